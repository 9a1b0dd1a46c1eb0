// SPDX-License-Identifier: MIT
#pragma once
// How far long work is: a line that changes on a terminal, lines at intervals in a log.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tool {

// Shows the progress of all work from now on, or hides it; it is shown by default. `log_seconds` is
// the time between lines where standard error is no terminal. Without it the first comes after 5
// seconds, the others after ever longer times, up to a minute.
void show_progress(bool is_shown, std::optional<double> log_seconds = std::nullopt);

// "0:07", "12:34", "1:02:03".
[[nodiscard]] std::string duration_text(double seconds);
// "45 % after 0:12, about 0:15 left"; without an estimate where nothing is done yet, or all.
[[nodiscard]] std::string progress_text(std::uint64_t done, std::uint64_t total, double seconds);
// When the line after one at `seconds` is written to a log.
[[nodiscard]] double next_log_line(double seconds);

// Tells on standard error how much of some work is done.
class Progress {
 public:
  // `total`: all of it, in the unit of `advance`. The text must outlive the object.
  Progress(const char* what, std::uint64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void advance(std::uint64_t amount);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double seconds() const;
  void draw(double seconds);
  void log(double seconds);

  const char* what_;
  std::uint64_t total_, done_ = 0;
  Clock::time_point begin_ = Clock::now();
  bool is_terminal_;
  bool has_written_ = false;
  double next_ = 0;  // seconds after the beginning, of the next line
};

}  // namespace tool
