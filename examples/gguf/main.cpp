// SPDX-License-Identifier: MIT
// A small language model as GGUF files that llama.cpp loads: every type, by the quantizer of ggml
// and by that of tq, with the loss of the values that the file holds.
//     gguf [--quick] [folder to write (default gguf_files)]

#include "common/data_folder.hpp"
#include "stories/evaluate.hpp"
#include "stories/table.hpp"
#include "story_file.hpp"

#include <tq/layouts/gguf/type.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/write_gguf.hpp>

#include <cstddef>
#include <exception>
#include <filesystem>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t story_length = 60;

// GGUF files need no kernels of other types.
using StoredModel = tq::BasicStoredModel<tq::TypeList<tq::int4>, tq::TypeList<float>>;

// The losses of a model on the texts, and how many tokens of the story of the float model it tells.
struct Score {
  double loss = 0;  // the mean over all tokens
  std::size_t same = 0;
};

class Judge {
 public:
  explicit Judge(const Story& story)
      : story_(story), told_(tell(story.model, story.greedy[0], story_length)) {}

  Score operator()(const Model& model) const {
    double sum = 0, count = 0;
    for (const Story::Text& text : story_.texts) {
      const Vector losses = losses_of(logits_of(model, text.tokens), text.tokens);
      sum += losses.cast<double>().sum();
      count += static_cast<double>(losses.size());
    }
    return {sum / count, same_tokens(told_, tell(model, story_.greedy[0], story_length))};
  }

 private:
  const Story& story_;
  std::vector<int> told_;  // by the float model
};

// "q5_0, q8_0, f16": the types of the matrices.
std::string types_of(const tq::GgufReport& report) {
  std::set<std::string> names;
  for (const tq::GgufWritten& t : report.tensors)
    if (t.shape.size() == 2) names.emplace(tq::layouts::gguf::info_of(t.type).name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

int run(const std::filesystem::path& folder, const std::filesystem::path& out, bool quick) {
  const Story story = load_story(folder);
  const Judge judge(story);
  const std::filesystem::path original = out / "stories260k-f32.gguf";
  create_directories(out);
  write_story(original, story.model, folder);
  const Score exact = judge(story.model), read = judge(read_story(original, story.model));
  bool good = read.loss == exact.loss && read.same == story_length;

  std::vector<std::string> types{"f16",   "q8_0", "q6_k",   "q5_k",   "q5_1", "q5_0", "q4_k",
                                 "q4_1",  "q4_0", "iq4_nl", "iq4_xs", "q3_k", "q2_k", "mxfp4",
                                 "nvfp4", "q2_0", "q1_0",   "tq2_0",  "tq1_0"};
  if (quick) types = {"q8_0", "q5_0", "iq4_nl"};
  Table table({"type", "types of matrices", "bits/weight", "bytes", "loss", "loss (ggml)", "story",
               "story (ggml)"});
  table.add({"f32", "f32", "32.00", std::to_string(file_size(original)), fixed(exact.loss, 3), "",
             std::to_string(exact.same), ""});
  for (const std::string& type : types) {
    const auto write = [&](tq::GgufMethod method) {
      const char* const suffix = method == tq::GgufMethod::ggml ? "-ggml.gguf" : ".gguf";
      tq::GgufOptions options;
      options.type = type;
      options.method = method;
      options.overwrite = true;
      return tq::write_gguf<StoredModel>(out / ("stories260k-" + type + suffix), original, options);
    };
    const tq::GgufReport report = write(tq::GgufMethod::best);
    const Score best = judge(read_story(report.file, story.model));
    const Score ggml = judge(read_story(write(tq::GgufMethod::ggml).file, story.model));
    if (type == "q8_0") good = good && best.loss < exact.loss + 0.005;
    table.add({type, types_of(report), fixed(report.bits_per_weight(), 2),
               std::to_string(file_size(report.file)), fixed(best.loss, 3), fixed(ggml.loss, 3),
               std::to_string(best.same), std::to_string(ggml.same)});
  }
  std::cout << table
            << "\nRows of 64 are no whole blocks of 256, so that the K-quants become types of "
               "smaller blocks, and "
               "rows of 172 stay float16.\nloss is the mean of -log(probability of the next "
               "token) on "
            << story.texts.size() << " texts; story: how many of the first " << story_length
            << " tokens are those of f32.\nThe files are in " << out.string() << ".\n";
  if (!good) std::cout << "WRONG: the values of f32 or q8_0 are not those of the model\n";
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bool quick = false;
    std::filesystem::path out = "gguf_files";
    for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
      if (argument == "--quick") quick = true;
      else if (argument.starts_with("-"))
        throw std::invalid_argument("expected [--quick] [folder to write], got " + argument);
      else out = argument;
    }
    return run(examples::data_folder() / "stories260k", out, quick);
  } catch (const std::exception& e) {
    std::cout.flush();
    std::cerr << "gguf: " << e.what() << '\n';
    return 1;
  }
}
