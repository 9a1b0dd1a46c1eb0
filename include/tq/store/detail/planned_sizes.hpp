// SPDX-License-Identifier: MIT
#pragma once
// PlannedSizes: a model that is opened once, and the sizes of its weight files in formats.

#include <tq/bodies.hpp>
#include <tq/store/checkpoint_options.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace tq::store::detail {

class AnyFormat;

class PlannedSizes {
 public:
  TQ_API PlannedSizes(const std::filesystem::path& in, const CheckpointOptions& options);

  // Bytes of the files that write_checkpoint makes.
  [[nodiscard]] TQ_API std::uint64_t bytes_of(const std::shared_ptr<const AnyFormat>& format) const;
  // The same; 2^64 - 1 where the engine of the options does not load them.
  [[nodiscard]] TQ_API std::uint64_t loaded_bytes_of(
      const std::shared_ptr<const AnyFormat>& format) const;
  // The reason why the engine of the options does not load the files, or empty.
  [[nodiscard]] TQ_API std::string engine_limit(
      const std::shared_ptr<const AnyFormat>& format) const;
  // Bytes of the model's own files, without its index.
  [[nodiscard]] TQ_API std::uint64_t as_it_is() const;

 private:
  struct Model;
  std::shared_ptr<const Model> model_;
};

}  // namespace tq::store::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/store/detail/planned_sizes.ipp>
#endif
