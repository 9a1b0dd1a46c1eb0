// SPDX-License-Identifier: MIT
#include "integer_table.hpp"

#include "evaluate.hpp"
#include "speakers.hpp"
#include "table.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr std::size_t story_length = 60;

// The shortest of `rounds` runs of each job, in seconds of the processor. The jobs take turns, so
// that what else the machine does meets them alike.
std::vector<double> seconds(const std::vector<std::function<void()>>& jobs, int rounds) {
  std::vector<double> best(jobs.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::clock_t start = std::clock();
      jobs[i]();
      best[i] = std::min(best[i], static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
  return best;
}

struct Answers {
  double loss = 0;             // the mean of all tokens
  std::vector<int> likeliest;  // after every token
  std::vector<int> told;
};

Answers answers(const Speaker& speaker, const Story& story) {
  Answers out;
  double count = 0;
  for (const Story::Text& text : story.texts) {
    const Matrix logits = speaker.logits(text.tokens);
    const Vector losses = losses_of(logits, text.tokens);
    out.loss += losses.cast<double>().sum();
    count += static_cast<double>(losses.size());
    for (Index t = 0; t < logits.rows(); ++t) out.likeliest.push_back(likeliest(logits, t));
  }
  out.loss /= count;
  out.told = speaker.continued(story.greedy[0], story_length);
  return out;
}

// How many of `a` are the same in `b`.
std::size_t agreeing(const std::vector<int>& a, const std::vector<int>& b) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
  return same;
}

// Tokens per second, and against float32.
std::string speed(std::size_t tokens, double seconds, double float_seconds) {
  return fixed(static_cast<double>(tokens) / seconds, 0) + " (" +
         fixed(float_seconds / seconds, 2) + "x)";
}

}  // namespace

bool add_integer_table(const Story& story, bool quick) {
  const std::vector<Speaker> all = speakers(story.model);
  const std::vector<int>& text = story.texts[0].tokens;
  std::vector<std::function<void()>> telling, reading;
  for (const Speaker& speaker : all) {
    telling.emplace_back([&] { speaker.continued(story.greedy[0], story_length); });
    reading.emplace_back([&] { speaker.logits(text); });
  }
  const int rounds = quick ? 5 : 40;
  const std::vector<double> told = seconds(telling, rounds), read = seconds(reading, rounds);

  Table table({"weights", "activations", "bytes", "loss", "likeliest", "story tokens", "tokens/s",
               "reading tokens/s"});
  std::vector<Answers> given;
  bool good = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    given.push_back(answers(all[i], story));
    const Answers &exact = given.front(), &now = given.back();
    good = good && now.loss <= exact.loss + all[i].tolerance;
    table.add({all[i].weights, all[i].activations, std::to_string(all[i].bytes), fixed(now.loss, 3),
               std::to_string(agreeing(exact.likeliest, now.likeliest)) + "/" +
                   std::to_string(exact.likeliest.size()),
               std::to_string(same_tokens(exact.told, now.told)),
               speed(story_length, told[i], told[0]), speed(text.size(), read[i], read[0])});
  }
  std::cout << table;
  return good;
}
