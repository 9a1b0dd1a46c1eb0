// SPDX-License-Identifier: MIT
// The loss of a language model whose matrices are quantized by one algorithm after the other, with
// the activations of text that it writes itself.
//     weight_algorithms [--quick] [folder of the data]

#include "common/quick_main.hpp"
#include "sequence.hpp"
#include "stories/evaluate.hpp"
#include "stories/files.hpp"
#include "stories/table.hpp"

#include <tq/scheme/named_schemes.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t texts = 15, text_length = 256;

struct Scheme {
  std::string name;
  tq::QuantSpec spec;
  double goal = 0;     // that the best loss must reach; 0: none
  bool quick = false;  // part of the short table
};

tq::QuantSpec grouped(const std::string& type, int size, const std::string& symmetry) {
  return {.type = type, .granularity = "per_group", .symmetry = symmetry, .group_size = size};
}

std::vector<Scheme> schemes() {
  return {{"int4 g32 asymmetric", grouped("int4", 32, "asymmetric"), 0.885},
          {"int4 g32", grouped("int4", 32, "symmetric")},
          {"int3 g32 asymmetric", grouped("int3", 32, "asymmetric"), 1.06, true},
          {"int2 g16 asymmetric", grouped("int2", 16, "asymmetric"), 2.1},
          {"mxfp4", tq::named_scheme("mxfp4"), 0.93, true},
          {"nvfp4", tq::named_scheme("nvfp4"), 0.89},
          {"nf4 g64", tq::named_scheme("nf4")}};
}

std::vector<Method> methods() {
  const auto gptq = [](const char* order, const char* scales, std::size_t sweeps) {
    return tq::WeightAlgorithm{.name = "gptq", .order = order, .scales = scales, .sweeps = sweeps};
  };
  return {{"rtn", {.name = "rtn"}},
          {"rtn-weighted", {.name = "rtn-weighted"}},
          {"gptq natural", gptq("natural", "min_max", 0)},
          {"gptq", gptq("activation", "min_max", 0)},
          {"and scales", gptq("activation", "weighted", 0)},
          {"and descent", gptq("activation", "weighted", 2)},
          {"or target", gptq("activation", "weighted", 0), true},
          {"and both", gptq("activation", "weighted", 2), true}};
}

double loss_of(const Model& model, const Story& story) {
  double sum = 0, count = 0;
  for (const Story::Text& text : story.texts) {
    const Vector losses = losses_of(logits_of(model, text.tokens), text.tokens);
    sum += losses.cast<double>().sum();
    count += static_cast<double>(losses.size());
  }
  return sum / count;
}

int run(const std::filesystem::path& folder, bool quick) {
  const Story story = load_story(folder);
  std::vector<Texts> sets;
  for (unsigned seed = 1; seed <= (quick ? 1u : 3u); ++seed)
    sets.push_back(written_by(story.model, story.greedy[0], seed, texts, text_length));
  std::vector<std::string> header{"scheme"};
  for (const Method& method : methods()) header.push_back(method.name);
  Table table(header);
  bool good = true;
  for (const Scheme& scheme : schemes()) {
    if (quick && !scheme.quick) continue;
    std::vector<std::string> row{scheme.name};
    double least = 1e9;
    for (const Method& method : methods()) {
      double sum = 0;
      for (const Texts& set : sets)
        sum += loss_of(quantized(story.model, scheme.spec, method, set), story);
      const double loss = sum / static_cast<double>(sets.size());
      least = std::min(least, loss);
      row.push_back(fixed(loss, 4));
    }
    table.add(row);
    good = good && (quick || scheme.goal == 0 || least <= scheme.goal);
  }
  std::cout << "A language model with its matrices, but not its embedding, in fewer bits. Its loss "
               "on "
            << story.texts.size() << " texts\nis " << fixed(loss_of(story.model, story), 4)
            << " in float32. Layers are quantized one by one with the inputs that the quantized "
               "layers before give\nthem, of "
            << texts * text_length << " tokens that the model wrote itself"
            << (quick ? "" : ": means of three sets") << ".\n\n"
            << table
            << "\nrtn rounds to nearest, rtn-weighted under scales that are searched with the mean "
               "squares of inputs. gptq makes\nup for errors of codes, natural: column by column "
               "as they come, else the columns of large inputs first. and\nscales: also searched; "
               "and descent: then codes are changed one by one; or target: codes for weights that "
               "make up\nfor the changed inputs; and both.\n";
  if (!good) std::cout << "WRONG: a loss is above its goal\n";
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::quick_main("weight_algorithms", argc, argv, "stories260k", run);
}
