// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/ioctl.h>
#include <unistd.h>
#define TOOL_HAS_TERMINALS 1
#else
#define TOOL_HAS_TERMINALS 0
#endif

namespace tool {

namespace {

struct Shown {
  bool is_shown = true;
  std::optional<double> log_seconds{};
};
Shown& shown() {
  static Shown all;
  return all;
}

constexpr double first_log_line = 5, longest_pause = 60, between_drawings = 0.1;

bool has_terminal() {
#if TOOL_HAS_TERMINALS
  return ::isatty(::fileno(stderr)) != 0;
#else
  return false;
#endif
}

// Characters of a line of the terminal; 80 where it does not tell.
std::size_t terminal_width() {
#if TOOL_HAS_TERMINALS
  struct winsize size{};
  if (::ioctl(::fileno(stderr), TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
#endif
  return 80;
}

double share_of(std::uint64_t done, std::uint64_t total) {
  return total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
}

}  // namespace

void show_progress(bool is_shown, std::optional<double> log_seconds) {
  shown() = {is_shown, log_seconds};
}

std::string duration_text(double seconds) {
  const auto all = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e9));
  const auto two = [](std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::uint64_t hours = all / 3600, minutes = all / 60 % 60;
  return (hours == 0 ? std::to_string(minutes) : std::to_string(hours) + ":" + two(minutes)) + ":" +
         two(all % 60);
}

std::string progress_text(std::uint64_t done, std::uint64_t total, double seconds) {
  const double share = share_of(done, total);
  std::string text =
      std::to_string(static_cast<int>(100 * share)) + " % after " + duration_text(seconds);
  if (share > 0 && share < 1)
    text += ", about " + duration_text(std::ceil(seconds * (1 - share) / share)) + " left";
  return text;
}

double next_log_line(double seconds) {
  return seconds + shown().log_seconds.value_or(std::clamp(seconds, first_log_line, longest_pause));
}

Progress::Progress(const char* what, std::uint64_t total)
    : what_(what),
      total_(total),
      is_terminal_(has_terminal()),
      next_(is_terminal_ ? 0 : shown().log_seconds.value_or(first_log_line)) {}

Progress::~Progress() {
  if (!has_written_) return;
  if (is_terminal_) std::fprintf(stderr, "\r\x1b[K");
  else if (done_ >= total_)
    std::fprintf(stderr, "tq %s: done after %s\n", what_, duration_text(seconds()).c_str());
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Progress::advance(std::uint64_t amount) {
  done_ += amount;
  if (!shown().is_shown) return;
  const double now = seconds();
  if (now < next_) return;
  has_written_ = true;
  if (is_terminal_) draw(now);
  else log(now);
}

void Progress::draw(double now) {
  next_ = now + between_drawings;
  constexpr std::size_t bar_width = 24;
  const std::string text = progress_text(done_, total_, now);
  const std::size_t room = terminal_width();
  const auto filled =
      static_cast<std::size_t>(share_of(done_, total_) * static_cast<double>(bar_width));
  const std::string bar =
      " [" + std::string(filled, '#') + std::string(bar_width - filled, '.') + "] ";
  std::string line = what_ + bar + text;
  if (line.size() >= room) line = std::string(what_) + " " + text;
  line = line.substr(0, room - 1);  // a longer one would begin a new line each time
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  std::fflush(stderr);
}

void Progress::log(double now) {
  next_ = next_log_line(now);
  std::fprintf(stderr, "tq %s: %s\n", what_, progress_text(done_, total_, now).c_str());
}

}  // namespace tool
