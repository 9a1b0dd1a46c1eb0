// SPDX-License-Identifier: MIT
// Networks that read handwritten digits, with weights of 2 and 3 bits by one algorithm after the
// other and without training.
//     digits_algorithms [--quick] [folder of the data]

#include "../digits/files.hpp"
#include "../digits/network.hpp"
#include "../digits/table.hpp"
#include "common/quick_main.hpp"

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace {

enum class Method { rounding, scales, gptq, descent, learned };
constexpr std::size_t methods = 5;

template <class Type>
using Weights = tq::QuantParams<Type, tq::PerChannel<0>, tq::Symmetric>;

struct Quantized {
  Network net;
  bool keeps_promises = true;  // no step of an algorithm made a loss larger
};

// The rows that a layer multiplies: images, or the neighbourhoods of their pixels.
Matrix rows_of(const Layer& layer, const Matrix& x) {
  if (layer.side == 0) return x;
  const Index pixels = layer.side * layer.side;
  Matrix rows(x.rows() * pixels, layer.weight.cols()), patches(layer.weight.cols(), pixels);
  for (Index n = 0; n < x.rows(); ++n) {
    gather_patches(x.row(n).data(), layer.side, patches);
    rows.middleRows(n * pixels, pixels) = patches.transpose();
  }
  return rows;
}

tq::ConstTensorView view_of(const Matrix& m) {
  return {m.data(), {static_cast<std::size_t>(m.rows()), static_cast<std::size_t>(m.cols())}};
}

// The codes of weights whose inputs have the mean products `h`.
template <class Params>
tq::QuantizedTensor<Params> quantized(const tq::ConstTensorView& w, const tq::FloatHessian& h,
                                      Method method, bool& keeps_promises) {
  if (method == Method::rounding) return tq::quantize(w, tq::calibrate<Params>(w));
  const Params params = tq::calibrate<Params>(w, tq::WeightedSearch(h));
  if (method == Method::scales) return tq::quantize(w, params);
  const tq::HessianFactor factor = tq::factor(h);
  auto result = tq::gptq(w, factor, params);
  keeps_promises = keeps_promises && result.loss <= result.loss_of_rounding;
  if (method == Method::descent) {
    const auto after = tq::coordinate_descent(w, h, factor, result.tensor);
    keeps_promises = keeps_promises && after.damped_loss <= after.damped_loss_before;
  } else if (method == Method::learned) {
    const auto after = tq::learn_rounding(w, h, factor, result.tensor);
    keeps_promises = keeps_promises && after.damped_loss <= after.damped_loss_before;
  }
  return result.tensor;
}

// Quantizes layer after layer, with the inputs that the quantized layers before give it.
template <class Type>
Quantized quantized(const Network& net, Matrix images, Method method) {
  Quantized out{net};
  for (Layer& layer : out.net.layers) {
    tq::FloatHessian h(static_cast<std::size_t>(layer.weight.cols()));
    h.add(view_of(rows_of(layer, images)));
    const auto codes =
        quantized<Weights<Type>>(view_of(layer.weight), h, method, out.keeps_promises);
    const std::vector<float> values = tq::dequantize(codes);
    std::ranges::copy(values, layer.weight.data());
    images = apply(layer, images);
  }
  return out;
}

// Adds a row of correct answers, the most of which must not be by rounding.
template <class Type>
bool add_row(Table& table, const Network& net, const Images& train, const Images& test) {
  const auto total = static_cast<double>(test.labels.size());
  const auto share = [&](int correct) { return fixed(100 * correct / total, 2); };
  std::vector<std::string> row{net.name, std::string(Type::name),
                               share(count_correct(forward(net, test.pixels), test.labels))};
  std::vector<int> correct;
  bool good = true;
  for (std::size_t m = 0; m < methods; ++m) {
    const Quantized q = quantized<Type>(net, train.pixels, static_cast<Method>(m));
    correct.push_back(count_correct(forward(q.net, test.pixels), test.labels));
    row.push_back(share(correct.back()));
    good = good && q.keeps_promises;
  }
  table.add(row);
  for (std::size_t m = 2; m < methods; ++m) good = good && correct[m] >= correct[0];
  return good;
}

int run(const std::filesystem::path& folder, bool quick) {
  const Images train = load_images(folder, "train_idx.npy"),
               test = load_images(folder, "test_idx.npy");
  Table table({"network", "weights", "float", "rounding", "scales", "gptq", "descent", "learned"},
              2);
  bool good = true;
  for (const std::string name : {"mlp", "cnn"}) {
    if (quick && name == "cnn") continue;
    Network net = load_network(folder / ("digits_" + name + ".safetensors"));
    net.name = name;
    good = add_row<tq::int3>(table, net, train, test) && good;
    good = add_row<tq::int2>(table, net, train, test) && good;
  }
  std::cout << "Per cent of correct answers on " << test.labels.size()
            << " unseen images. Weights have a scale per output channel, and inputs stay float32."
               "\nNothing is trained: algorithms see the inputs of layers for "
            << train.labels.size() << " images, and no label.\n\n"
            << table
            << "\nrounding takes scales of ranges; all others search scales with the mean squares "
               "of inputs. gptq makes up for\nerrors of codes, descent then changes codes one by "
               "one, and learned changes the codes of gptq by gradients.\n";
  if (!good) std::cout << "WRONG: an algorithm is worse than rounding, or made a loss larger\n";
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::quick_main("digits_algorithms", argc, argv, "digits", run);
}
