// SPDX-License-Identifier: MIT
// Eight threads observe batches; their observers are merged, stored as JSON, loaded, and calibrate.
#include <tq/json/observer_json.hpp>
#include <tq/tq.hpp>

#include <iostream>
#include <random>
#include <thread>

using A8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
using Histogram = tq::Observer<tq::Histogram>;

int main() {
  std::vector<std::vector<float>> batches(64, std::vector<float>(4096));
  std::mt19937 random(1);
  for (auto& batch : batches)
    for (float& x : batch) x = std::normal_distribution<float>()(random);
  Histogram serial, all, parts[8];
  for (const auto& batch : batches) serial.observe(batch);
  {
    std::vector<std::jthread> team;
    for (int t = 0; t < 8; ++t)
      team.emplace_back([&, t] {
        for (int b = t; b < 64; b += 8) parts[t].observe(batches[b]);
      });
  }
  for (const Histogram& part : parts) all.merge(part);
  const std::string text = tq::io::observer_to_json(all).dump();
  const auto loaded = tq::io::observer_from_json<Histogram>(tq::io::Json::parse(text));
  const auto a = tq::calibrate<A8>(loaded, tq::KlDivergenceCalibrator{});
  std::cout << "same " << (a == tq::calibrate<A8>(serial, tq::KlDivergenceCalibrator{})) << '\n';
}
