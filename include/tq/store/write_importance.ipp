// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/write_importance.hpp.

#include <tq/containers/gguf_value.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/write_importance.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

namespace store::detail {

// A weight whose sums are float32.
TQ_API ImportanceSums::Weight stored_importance(const std::string& name,
                                                ImportanceSums::Weight weight) {
  const auto refuse = [&](errc code, const std::string& text) {
    tq::detail::raise_text(code,
                           {"tq::write_importance: weight ", io::shown(name), ": expected ", text});
  };
  if (weight.counts.empty() || weight.sums.size() % weight.counts.size() != 0)
    refuse(errc::bad_argument, "sums for each of " + std::to_string(weight.counts.size()) +
                                   " counts, got " + std::to_string(weight.sums.size()));
  for (double& sum : weight.sums) {
    if (!(sum >= 0.0 && sum <= double{std::numeric_limits<float>::max()}))
      refuse(errc::out_of_range, "sums of squares in float32, got " + std::to_string(sum));
    sum = static_cast<float>(sum);
  }
  return weight;
}

TQ_API bool has_tokens(const ImportanceSums::Weight& weight) {
  return std::ranges::any_of(weight.counts, [](std::uint64_t n) { return n != 0; });
}

TQ_API void write_gguf_importance(const std::filesystem::path& file,
                                  const ImportanceSums& importance, io::Links links) {
  const auto chunks = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(importance.chunks(), std::numeric_limits<std::uint32_t>::max()));
  const std::vector<io::GgufEntry> entries{{"general.type", std::string("imatrix")},
                                           {"imatrix.datasets", io::GgufArray(importance.datasets)},
                                           {"imatrix.chunk_count", chunks},
                                           {"imatrix.chunk_size", importance.chunk_size}};
  std::vector<io::GgufTensorDecl> tensors;
  for (const auto& [name, weight] : importance.weights) {
    const std::size_t counts = weight.counts.size();
    tensors.push_back({name + std::string(importance_sums_ending),
                       layouts::gguf::Type::f32,
                       {counts, weight.sums.size() / counts}});
    tensors.push_back(
        {name + std::string(importance_counts_ending), layouts::gguf::Type::f32, {counts, 1}});
  }
  io::GgufWriter writer(file, entries, tensors, links);
  const auto append = [&](const std::string& name, const auto& numbers) {
    std::vector<std::byte> bytes;
    for (const auto number : numbers) {
      bytes.resize(bytes.size() + sizeof(float));
      io::store_le(bytes.data() + bytes.size() - sizeof(float), static_cast<float>(number));
    }
    writer.append(name, bytes);
  };
  for (const auto& [name, weight] : importance.weights) {
    append(name + std::string(importance_sums_ending), weight.sums);
    append(name + std::string(importance_counts_ending), weight.counts);
  }
  writer.finish();
}

// The bytes of the older form, which are those of a few megabytes.
// The bytes of the older form, which are those of a few megabytes.
class BinaryImportance {
 public:
  TQ_API explicit BinaryImportance(const ImportanceSums& importance);
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();

  template <class T>
  void put(T value) {
    bytes_.resize(bytes_.size() + sizeof(T));
    io::store_le(bytes_.data() + bytes_.size() - sizeof(T), value);
  }
  TQ_API void put(const std::string& text);
  TQ_API void put(const std::string& name, const ImportanceSums::Weight& weight,
                  std::uint32_t chunk_size);

  std::vector<std::byte> bytes_;
};

TQ_API BinaryImportance::BinaryImportance(const ImportanceSums& importance) {
  std::int32_t entries = 0;
  for (const auto& [name, weight] : importance.weights) entries += has_tokens(weight) ? 1 : 0;
  put(entries);
  for (const auto& [name, weight] : importance.weights)
    if (has_tokens(weight)) put(name, weight, importance.chunk_size);
  put(static_cast<std::int32_t>(std::min<std::uint64_t>(importance.chunks(), most)));
  put(importance.datasets.empty() ? std::string() : importance.datasets.back());
}

TQ_API void BinaryImportance::put(const std::string& text) {
  put(static_cast<std::int32_t>(text.size()));
  const auto raw = std::as_bytes(std::span<const char>(text));
  bytes_.insert(bytes_.end(), raw.begin(), raw.end());
}

TQ_API void BinaryImportance::put(const std::string& name, const ImportanceSums::Weight& weight,
                                  std::uint32_t chunk_size) {
  const auto refuse = [&](errc code, const std::string& text) {
    tq::detail::raise_text(code,
                           {"tq::write_importance: weight ", io::shown(name), ": expected ", text});
  };
  if (weight.sums.size() > static_cast<std::size_t>(most))
    refuse(errc::bad_argument, "less than 2^31 sums, got " + std::to_string(weight.sums.size()));
  const std::uint64_t tokens = *std::ranges::max_element(weight.counts);
  const auto calls = static_cast<std::int32_t>(std::bit_ceil(
      std::min<std::uint64_t>((tokens + chunk_size - 1) / chunk_size, std::uint64_t{1} << 30)));
  put(name);
  put(calls);
  put(static_cast<std::int32_t>(weight.sums.size()));
  for (const float mean : importance_of(weight)) {
    const float sum = mean * static_cast<float>(calls);
    if (!std::isfinite(sum))
      refuse(errc::out_of_range, "sums of squares in float32, got " + std::to_string(mean) +
                                     " of " + std::to_string(calls) + " chunks");
    put(sum);
  }
}

}  // namespace store::detail

TQ_API void write_importance(const std::filesystem::path& file, const ImportanceSums& importance,
                             ImportanceForm form, io::Links links) {
  ImportanceSums stored{{}, importance.datasets, importance.chunk_size};
  bool is_empty = true;
  for (const auto& [name, weight] : importance.weights) {
    is_empty = is_empty && !store::detail::has_tokens(weight);
    stored.weights.emplace(name, store::detail::stored_importance(name, weight));
  }
  if (is_empty)
    raise(errc::no_data,
          "tq::write_importance: expected weights whose inputs were seen, got no tokens");
  if (stored.chunk_size == 0)
    raise(errc::bad_argument, "tq::write_importance: expected chunks of 1 token or more, got 0");
  if (form == ImportanceForm::gguf)
    return store::detail::write_gguf_importance(file, stored, links);
  const store::detail::BinaryImportance older(stored);
  io::AtomicFile out(file, links);
  out.write(older.bytes());
  out.commit();
}

}  // namespace tq
