// SPDX-License-Identifier: MIT
// The cost of quantization: trained networks on handwritten digits, evaluated under various
// schemes.
//     digits [folder of the data]

#include "calibration.hpp"
#include "common/data_folder.hpp"
#include "files.hpp"
#include "integers.hpp"
#include "quantized.hpp"
#include "table.hpp"

#include <tq/scheme/named_schemes.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

// Evaluates schemes of one network and writes their rows.
class Evaluation {
 public:
  Evaluation(const Network& net, const LayerInputs& seen, const Images& test, Table& table)
      : net_(net),
        test_(test),
        table_(table),
        logits_(forward(net, test.pixels)),
        activations_(calibrate_activations(seen)) {
    for (const Layer& layer : net.layers) {
      weights_ += static_cast<double>(layer.weight.size());
      other_floats_ += static_cast<double>(layer.scale.size() + layer.shift.size());
    }
  }

  const Matrix& float_logits() const { return logits_; }

  void add_float() { add("float32", "float32", {net_, 32 * weights_, {}}, logits_); }

  void add_weights(const std::string& scheme) {
    const Compressed c = quantize_weights(net_, tq::named_scheme(scheme));
    add(scheme, "float32", c, forward_quantized(c.net, test_.pixels, {}));
  }

  void add_weights_and_activations(const std::string& scheme) {
    const Compressed c = quantize_weights(net_, tq::named_scheme(scheme));
    add(scheme, std::string(Activations::type::name), c,
        forward_quantized(c.net, test_.pixels, activations_));
  }

 private:
  void add(const std::string& weights, const std::string& activations, const Compressed& c,
           const Matrix& logits) {
    const int correct = count_correct(logits, test_.labels);
    const auto total = static_cast<double>(test_.labels.size());
    const double output_sqnr = tq::compare(logits_, logits).sqnr_db;
    std::string layers;
    for (const double db : c.weight_sqnr) {
      if (!layers.empty()) layers += ' ';
      layers += fixed(db, 1);
    }
    table_.add({net_.name, weights, activations, fixed(c.weight_bits / weights_, 2),
                fixed(std::ceil(c.weight_bits / 8) + 4 * other_floats_, 0),
                std::to_string(correct) + "/" + std::to_string(test_.labels.size()),
                fixed(100 * correct / total, 2) + " %",
                std::isinf(output_sqnr) ? "exact" : fixed(output_sqnr, 1),
                layers.empty() ? "exact" : layers});
  }

  const Network& net_;
  const Images& test_;
  Table& table_;
  Matrix logits_;
  std::vector<Activations> activations_;
  double weights_ = 0, other_floats_ = 0;
};

std::string share(int correct, const Images& test) {
  const auto total = static_cast<double>(test.labels.size());
  return std::to_string(correct) + "/" + std::to_string(test.labels.size()) + "  " +
         fixed(100 * correct / total, 2) + " %";
}

void add_calibrators(const Network& net, const LayerInputs& seen, const Images& test,
                     Table& table) {
  table.rule();
  for (const Calibrated& c : try_calibrators(net, seen, test.pixels))
    table.add({net.name, c.calibrator, share(count_correct(c.int8_logits, test.labels), test),
               fixed(c.int8_input_sqnr, 1), share(count_correct(c.int4_logits, test.labels), test),
               fixed(c.int4_input_sqnr, 1)});
}

// The codes of all layers' inputs in two runs.
struct Agreement {
  std::size_t differ = 0, all = 0;
  int most = 0;  // steps between two codes that differ
  Agreement(const Run& a, const Run& b) {
    for (std::size_t i = 0; i < a.codes.size(); ++i)
      for (std::size_t k = 0; k < a.codes[i].size(); ++k, ++all) {
        const int steps = std::abs(a.codes[i][k] - b.codes[i][k]);
        differ += steps != 0;
        most = std::max(most, steps);
      }
  }
};

// Whether integers and fake quantization agree: in every code where scales are static; up to one
// step beside a tie where they are dynamic, as floats are rounded between layers.
bool add_integers(const Network& net, const LayerInputs& seen, const Images& test, Table& table) {
  const auto add = [&](const char* scales, const auto& integers) {
    const Run exact = integers.forward(test.pixels), fake = integers.fake_quantized(test.pixels);
    const Agreement codes(fake, exact);
    table.add({net.name, scales, share(count_correct(forward(net, test.pixels), test.labels), test),
               share(count_correct(fake.logits, test.labels), test),
               share(count_correct(exact.logits, test.labels), test),
               std::to_string(codes.differ) + "/" + std::to_string(codes.all)});
    return codes;
  };
  const Agreement known = add("static", StaticIntegers(net, calibrate_activations(seen))),
                  dynamic = add("dynamic", DynamicIntegers(net));
  return known.differ == 0 && dynamic.most <= 1 && dynamic.differ < dynamic.all / 10000;
}

// The float network must do what its authors recorded.
bool agrees_with_record(const std::string& name, const Matrix& logits, const Images& test,
                        const std::filesystem::path& folder, const nlohmann::json& record) {
  const int correct = count_correct(logits, test.labels), expected = record.at("test_correct");
  const std::string logits_file = record.at("logits");
  const Matrix recorded = to_matrix(tq::io::read_npy(folder / logits_file));
  const double difference = tq::compare(recorded, logits).max_abs;
  const bool good = correct == expected && difference <= 1e-4;
  std::cout << (good ? "  ok    " : "  WRONG ") << name << ": " << correct << " correct, recorded "
            << expected << "; outputs differ from the recorded ones by at most " << difference
            << '\n';
  return good;
}

int run(const std::filesystem::path& folder) {
  const Images train = load_images(folder, "train_idx.npy"),
               test = load_images(folder, "test_idx.npy");
  const nlohmann::json info = nlohmann::json::parse(std::ifstream(folder / "info.json"));

  std::cout
      << "Three small networks read handwritten digits; their weights, then their activations too, "
         "are stored in "
         "fewer bits.\nA good scheme has few bits per weight and as many correct answers on the " +
             std::to_string(test.labels.size()) +
             " unseen images as float32.\n\nFloat networks against the "
             "record of their training:\n";
  Table table({"network", "weights", "activations", "bits/weight", "bytes", "correct", "accuracy",
               "outputs dB", "weights dB, by layer"},
              3);
  Table calibrators({"network", "calibrator", "int8 correct", "int8 dB", "int4 correct", "int4 dB"},
                    2);
  Table integers(
      {"network", "scales", "float32", "fake quantized", "integers", "codes that differ"}, 2);
  bool good = true;
  for (const std::string name : {"mlp", "cnn", "cnn_bn"}) {
    const nlohmann::json& record = info.at("models").at("digits_" + name);
    Network net = load_network(folder / std::string(record.at("file")));
    net.name = name;
    const LayerInputs seen = observe_inputs(net, train.pixels);
    Evaluation e(net, seen, test, table);
    good = agrees_with_record(name, e.float_logits(), test, folder, record) && good;

    table.rule();
    e.add_float();
    for (const char* scheme :
         {"bfloat16",  "float16",    "float8_e4m3fn", "float8_e5m2", "mxfp8_e4m3", "mxint8",
          "int8",      "mxfp6_e2m3", "mxfp6_e3m2",    "int6",        "uint4_g32",  "int4_g32",
          "nvfp4",     "nf4",        "iq4_nl",        "bnb_fp4",     "mxfp4",      "nf4_double",
          "uint3_g32", "int3_g32",   "uint2_g32",     "int2_g32",    "ternary",    "binary"})
      e.add_weights(scheme);
    for (const char* scheme : {"int8", "mxfp8_e4m3", "uint4_g32", "int4_g32", "nvfp4", "nf4"})
      e.add_weights_and_activations(scheme);
    add_calibrators(net, seen, test, calibrators);
    good = add_integers(net, seen, test, integers) && good;
  }
  std::cout
      << '\n'
      << table
      << "\ntq formats says what the schemes are. bits/weight and bytes count codes, scales and "
         "zero points as they are stored; bytes also "
         "count\nbiases and batch norms (a factor and an offset per channel), which stay "
         "float32. dB is signal "
         "over quantization noise: 6 dB\nmore halve the error. Activations have one scale "
         "and zero point per "
         "layer input, calibrated on training images.\n\n"
         "Who chooses them matters, the more the fewer the bits: weights in float32, every layer's "
         "input in int8 or int4, the\nrange of each chosen from the training images by one "
         "calibrator after the other.\n\n"
      << calibrators
      << "\ndB is of the layers' inputs. min_max covers everything seen; the others clip rare "
         "values "
         "so that the rest get smaller steps.\n\n"
         "A processor need not see floats: int8 codes times int8 weights, summed as integers, and "
         "the sums "
         "made codes of the next\nlayer, whose scale is known before (static); or made floats, of "
         "which every image has a scale of its own (dynamic).\nBeside it the same in floats, and "
         "how "
         "many codes of all layers' inputs the two have different: none, but for ties "
         "where\nfloats "
         "are rounded between layers.\n\n"
      << integers;
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::filesystem::path(argv[1]) : examples::data_folder() / "digits");
  } catch (const std::exception& e) {
    std::cerr << "digits: " << e.what() << '\n';
    return 1;
  }
}
