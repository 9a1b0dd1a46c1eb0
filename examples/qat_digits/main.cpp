// SPDX-License-Identifier: MIT
// Quantization-aware training: trained networks on handwritten digits learn to do with few bits, by
// one gradient policy after the other.
//     qat_digits [--quick] [--validate] [--out folder] [folder of the data]

#include "common/data_folder.hpp"
#include "page.hpp"
#include "stored.hpp"
#include "training.hpp"

#include "../digits/table.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Options {
  bool quick = false;
  bool validate = false;  // on a part of the training images, as when `Training` was chosen
  std::filesystem::path data = examples::data_folder() / "digits", out = ".";
};

Options parsed(const std::vector<std::string>& arguments) {
  Options options;
  bool has_data = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--quick") options.quick = true;
    else if (argument == "--validate") options.validate = true;
    else if (argument == "--out" && i + 1 < arguments.size()) options.out = arguments[++i];
    else if (argument.starts_with("-") || std::exchange(has_data, true))
      throw std::invalid_argument(
          "expected [--quick] [--validate] [--out folder] [folder of the data], got " + argument);
    else options.data = argument;
  }
  return options;
}

std::string share(int correct, int total) {
  return std::to_string(correct) + "/" + std::to_string(total) + "  " +
         fixed(100.0 * correct / total, 2) + " %";
}

// The rows of a network.
class Study {
 public:
  Study(const Options& options, std::string name, Images train, Images test)
      : options_(options),
        name_(std::move(name)),
        train_(std::move(train)),
        test_(std::move(test)) {
    const auto info = nlohmann::json::parse(std::ifstream(options.data / "info.json"));
    const nlohmann::json& record = info.at("models").at("digits_" + name_);
    net_ = load_network(options.data / std::string(record.at("file")));
    float_correct_ = count_correct(infer(net_, test_.pixels), test_.labels);
    const int recorded = record.at("test_correct");
    if (!options.validate && float_correct_ != recorded)
      throw std::runtime_error("network " + name_ + " has " + std::to_string(float_correct_) +
                               " correct answers, recorded are " + std::to_string(recorded));
  }

  Result run(const Scheme& scheme) const {
    Training how;
    if (options_.quick) how.epochs = 10;
    Result r{name_,
             scheme.weights()->type(),
             scheme.activations()->type(),
             scheme.weights()->gradient(),
             scheme.activations()->gradient(),
             float_correct_,
             static_cast<int>(test_.labels.size()),
             {}};
    for (how.seed = 1; how.seed <= (options_.quick ? 1u : 3u); ++how.seed) {
      TrainedNetwork net(net_, scheme);
      r.correct.push_back(train(net, train_, test_, how));
      if (how.seed == 1 && scheme.stored && name_ == "cnn")
        store(net, options_.out / "qat_digits.safetensors",
              options_.out / "qat_digits_dequantized.safetensors");
    }
    return r;
  }

 private:
  const Options& options_;
  std::string name_;
  Images train_, test_;
  Network net_;
  int float_correct_ = 0;
};

void add(Table& table, const Result& r) {
  std::vector<int> last;
  for (const std::vector<int>& curve : r.correct) last.push_back(curve.back());
  const auto [least, most] = std::ranges::minmax(last);
  table.add({r.network, r.weights, r.activations, r.weight_gradient, r.input_gradient,
             share(r.float_correct, r.total), share(r.correct[0][0], r.total),
             share(last[0], r.total), fixed(r.accuracy(r.epochs()), 2) + " %",
             std::to_string(least) + ".." + std::to_string(most)});
}

int run(const Options& options) {
  Images train = load_images(options.data, "train_idx.npy"),
         test = load_images(options.data, "test_idx.npy");
  if (options.validate) {
    std::vector<Index> kept, held_out;
    for (Index i = 0; i < train.pixels.rows(); ++i) (i % 5 == 0 ? held_out : kept).push_back(i);
    test = pick(train, held_out);
    train = pick(train, kept);
  }
  std::filesystem::create_directories(options.out);
  Table table({"network", "weights", "activations", "gradient of weights",
               "gradient of activations", "float", "PTQ", "QAT", "mean", "seeds"},
              5);
  std::vector<Result> results;
  for (const std::string name : {"mlp", "cnn"}) {
    const Study study(options, name, train, test);
    for (const Scheme& scheme : schemes()) {
      if (options.quick && !scheme.quick) continue;
      results.push_back(study.run(scheme));
      const std::size_t n = results.size();
      if (n == 1 || results[n - 2].network != name ||
          results[n - 2].group() != results[n - 1].group())
        table.rule();
      add(table, results.back());
    }
  }
  write_page(options.out / "qat_digits.html", results);
  const Training how;
  std::cout
      << "Two networks that read handwritten digits are trained on with quantization in place, "
         "from "
         "their float32\nweights. All layers are quantized, the first and the last one too: "
         "weights "
         "with a scale per output channel,\nwhat enters a layer with one scale; biases stay "
         "float32. "
         "Correct answers on "
      << test.labels.size()
      << (options.validate ? " images that only the float networks were trained on:\nfloat"
                           : " images that were not trained on:\nfloat")
      << ", PTQ (the same quantizers, calibrated but not "
         "trained) and QAT (after "
      << results.front().epochs() << " epochs); mean and range over "
      << results.front().correct.size() << " seeds,\nwhich order the training images.\n\n"
      << table << "\nSGD with momentum, batches of " << how.batch << ", learning rate " << how.rate
      << " falling to 0 by a cosine, the same for all rows. It and the\nrelative rates of what "
         "policies learn were chosen on every fifth training image (--validate), which the float "
         "networks\nhave seen; not on test images. Ten images are "
      << fixed(1000.0 / static_cast<double>(test.labels.size()), 1)
      << " %: differences of a few images are chance.\n\nWritten: qat_digits.html, the learning "
         "curves; qat_digits.safetensors, the CNN with int4 weights and 4-bit\nactivations by "
         "learned_step, for tq inspect and tq dequantize.\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parsed({argv + 1, argv + argc}));
  } catch (const std::exception& e) {
    std::cout.flush();
    std::cerr << "qat_digits: " << e.what() << '\n';
    return 1;
  }
}
