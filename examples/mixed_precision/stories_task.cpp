// SPDX-License-Identifier: MIT
// stories260K, a small language model: two texts to select by, the third to judge.
#include "stories/evaluate.hpp"
#include "stories/files.hpp"
#include "task.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace {

struct TextScorer {
  Model model;
  std::vector<Story::Text> texts;
  std::vector<Matrix> logits;  // of the float model

  explicit TextScorer(Story story) : model(std::move(story.model)), texts(std::move(story.texts)) {
    if (texts.size() < 2) throw std::runtime_error("expected two texts or more, got one");
    for (const Story::Text& text : texts) logits.push_back(logits_of(model, text.tokens));
  }

  Score operator()(const std::vector<Weights>& weights, Data data) {
    std::size_t at = 0;
    for_each_matrix(model, [&](Matrix& w) {
      const std::vector<float>& values = weights[at++].values;
      w = Eigen::Map<const Matrix>(values.data(), w.rows(), w.cols());
    });
    const std::size_t last = texts.size() - 1;
    const std::size_t begin = data == Data::to_judge ? last : 0;
    const std::size_t end = data == Data::to_judge ? texts.size() : last;
    Score sum;
    for (std::size_t i = begin; i < end; ++i) {
      const Matrix now = logits_of(model, texts[i].tokens);
      sum.divergence += mean_divergence(logits[i], now);
      sum.metric += losses_of(now, texts[i].tokens).cast<double>().mean();
    }
    const auto n = static_cast<double>(end - begin);
    return {sum.divergence / n, sum.metric / n};
  }
};

}  // namespace

Task stories_task(const std::filesystem::path& data) {
  const auto scorer = std::make_shared<TextScorer>(load_story(data / "stories260k"));
  Task task{"stories260k", "loss", 4, {}, {}};
  const std::vector<std::string> parts{"wq", "wk", "wv", "wo", "w1", "w2", "w3"};
  for_each_matrix(scorer->model, [&](const Matrix& w) {
    const std::size_t i = task.weights.size();
    const std::string name = i == 0 ? "tok_embeddings"
                                    : "layers." + std::to_string((i - 1) / parts.size()) + "." +
                                          parts[(i - 1) % parts.size()];
    task.weights.push_back(weights_of(name, w));
  });
  task.score = [scorer](const std::vector<Weights>& weights, Data on) {
    return (*scorer)(weights, on);
  };
  return task;
}
