// SPDX-License-Identifier: MIT
// The effect of quantization on a language model: the loss on some texts, and the story the model
// tells, under one scheme after the other; and with layers that multiply integers.
//     stories [--quick] [folder of the data]

#include "common/quick_main.hpp"
#include "evaluate.hpp"
#include "files.hpp"
#include "integer_table.hpp"
#include "schemes.hpp"
#include "table.hpp"

#include <tq/interop/eigen.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t story_length = 60;

// The exponential of a loss; beyond any use it is cut short.
std::string perplexity(double loss) {
  constexpr double most = 10000;
  return std::exp(loss) > most ? "> 10000" : fixed(std::exp(loss), 2);
}

// The float model must say what its record says.
bool agrees_with_record(const Story& story) {
  constexpr double tolerance = 1e-4;
  bool good = true;
  const auto check = [&](bool ok) {
    good = good && ok;
    return ok ? "  ok    " : "  WRONG ";
  };
  std::cout << "The float model against its record (tolerance " << tolerance << "):\n";
  for (std::size_t i = 0; i < story.texts.size(); ++i) {
    const Story::Text& text = story.texts[i];
    const Matrix logits = logits_of(story.model, text.tokens);
    const Vector losses = losses_of(logits, text.tokens);
    const double logits_by = tq::compare(text.logits, logits).max_abs;
    const double losses_by = tq::compare(text.losses, losses).max_abs;
    std::cout << check(logits_by <= tolerance && losses_by <= tolerance) << "text " << i
              << ": logits differ by at most " << logits_by << ", losses by " << losses_by << '\n';
  }
  const std::size_t count = story.greedy.size() - 1;
  const std::size_t same = same_tokens(story.greedy, tell(story.model, story.greedy[0], count));
  std::cout << check(same == count) << same << " of " << count << " greedy tokens are the same\n";
  return good;
}

// Evaluates one model after the other, the float model first.
class Evaluation {
 public:
  explicit Evaluation(const Story& story) : story_(story) {
    for_each_matrix(story.model,
                    [&](const Matrix& w) { weights_ += static_cast<std::size_t>(w.size()); });
    norms_ =
        static_cast<std::size_t>(story.model.norm.size()) * (1 + 2 * story.model.layers.size());
    add("float32", story.model, weights_ * sizeof(float));
  }

  void add(const std::string& name, const Model& model, std::size_t matrix_bytes) {
    double sum = 0, count = 0;
    for (const Story::Text& text : story_.texts) {
      const Vector losses = losses_of(logits_of(model, text.tokens), text.tokens);
      sum += losses.cast<double>().sum();
      count += static_cast<double>(losses.size());
    }
    const std::vector<int> told = tell(model, story_.greedy[0], story_length);
    if (told_.empty()) told_ = told;
    const std::size_t same = same_tokens(told_, told);
    const double bits = 8 * static_cast<double>(matrix_bytes);
    table_.add({name, fixed(bits / static_cast<double>(weights_), 2),
                std::to_string(matrix_bytes + norms_ * sizeof(float)), fixed(sum / count, 3),
                perplexity(sum / count), std::to_string(same)});
    stories_ += "\n" + name + "\n  ";
    if (same == story_length && name != "float32") stories_ += "the same";
    else stories_ += to_text({told.begin() + 1, told.end()}, story_.vocabulary);
    stories_ += '\n';
  }

  const Table& table() const { return table_; }
  const std::string& stories() const { return stories_; }

 private:
  const Story& story_;
  std::size_t weights_ = 0, norms_ = 0;
  std::vector<int> told_;  // by the float model
  Table table_{{"weights", "bits/weight", "bytes", "loss", "perplexity", "story tokens"}};
  std::string stories_;
};

int run(const std::filesystem::path& folder, bool quick) {
  const Story story = load_story(folder);
  if (!agrees_with_record(story))
    throw std::runtime_error("the float model does not do what its record in " + folder.string() +
                             " says");
  Evaluation e(story);
  for (const Scheme& scheme : schemes()) {
    if (quick && !scheme.quick) continue;
    const Compressed c = compressed(story.model, scheme.spec);
    e.add(scheme.name, c.model, c.matrix_bytes);
  }
  std::cout << "\nThe model with its matrices and embedding in fewer bits:\n\n" << e.table();
  std::cout
      << "\nbits/weight counts codes, scales and zero points; bytes also counts the norms, "
         "which stay float32. \"by mean\"\ntakes the mean magnitude of the weights for the "
         "scale, the others the largest. loss is the mean of\n-log(probability of the next "
         "token) on "
      << story.texts.size()
      << " texts, perplexity its exponential; story tokens is how many\nof the first "
      << story_length << " tokens of the story below are those of float32.\n"
      << e.stories()
      << "\nThe model with layers that multiply integers; attention, norms and what is between "
         "layers stay float32:\n\n";
  const bool good = add_integer_table(story, quick);
  std::cout
      << "\nbytes counts the codes and scales of the layers and of the embedding, whose rows "
         "are looked up in 8 bits beside\nthe output layer (float32 has one matrix for both). "
         "likeliest: after how many tokens of the texts the likeliest\nnext one is that of "
         "float32. tokens/s: one thread, token by token; reading: "
      << story.texts[0].tokens.size()
      << " tokens at once; in\nparentheses against float32, which Eigen multiplies.\n";
  if (!good) std::cout << "WRONG: a loss is further above that of float32 than it may be\n";
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::quick_main("stories", argc, argv, "stories260k", run);
}
