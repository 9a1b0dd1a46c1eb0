// SPDX-License-Identifier: MIT
// A speech detector with integers in its convolutions and its LSTM cell: how far its probabilities
// are from those of the float detector.
//     silero_vad [folder of the data]

#include "common/quick_main.hpp"
#include "files.hpp"
#include "integers.hpp"
#include "stories/table.hpp"

#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr float threshold = 0.5f;

struct Difference {
  float largest, mean;
  Index decisions;  // that agree
  Difference(const Vector& a, const Vector& b)
      : largest((a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>()),
        mean((a - b).cwiseAbs().mean()),
        decisions(((a.array() >= threshold) == (b.array() >= threshold)).count()) {}
};

// The float detector must say what its record says.
void require_agreement(const Recording& recording) {
  constexpr float tolerance = 1e-4f;
  const Difference d(recording.probabilities,
                     speech_probabilities(recording.detector, recording.chunks));
  std::cout << "The float detector on " << recording.chunks.rows()
            << " chunks of 32 ms against its record: differs by at most " << d.largest
            << " (tolerance " << tolerance << ")\n\n";
  if (!(d.largest <= tolerance))
    throw std::runtime_error("the float detector does not do what its record says");
}

int run(const std::filesystem::path& folder, bool) {
  const Recording recording = load_recording(folder);
  require_agreement(recording);
  const Index count = recording.chunks.rows(), seen = count / 2;
  Table table({"weights", "activations", "bytes", "largest difference", "mean", "may be",
               "same decisions"});
  Vector exact;
  bool good = true;
  for (const Listener& l : listeners(recording.detector, recording.chunks.topRows(seen))) {
    const Vector now = l.probabilities(recording.chunks);
    if (exact.size() == 0) exact = now;
    const Difference d(exact, now);
    good = good && d.largest <= l.tolerance;
    table.add({l.weights, l.activations, std::to_string(l.bytes), fixed(d.largest, 4),
               fixed(d.mean, 4), fixed(l.tolerance, 2),
               std::to_string(d.decisions) + "/" + std::to_string(count)});
  }
  std::cout
      << table
      << "\nbytes counts the codes and scales of four convolutions and the two matrices of the "
         "cell. The spectrum, sums\nand functions of the cell, and the last layer stay "
         "float32. dynamic: a scale, of uint8 also a zero point, for\nevery chunk at every "
         "layer; static: one for all, from the range of the first "
      << seen << " chunks. decisions: whether\nthe probability of speech is at least " << threshold
      << ".\n";
  if (!good) std::cout << "WRONG: probabilities differ by more than they may\n";
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::quick_main("silero_vad", argc, argv, "silero_vad", run);
}
