// SPDX-License-Identifier: MIT
#pragma once
// Files of Hessians: everything they know, so that they are stored, merged elsewhere and continued.
//
// The Hessian "w" is stored in an .npz file as
//   w.sums        I64, the upper triangle of the sums of products, row by row
//   w.exponents   I32, of the step of each input
//   w.counts      U64 [3]: bits, tokens, tokens that were left out

#include <tq/bodies.hpp>
#include <tq/containers/npz_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/error.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/failure.hpp>
#include <tq/ptq/hessian.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

namespace store::detail {
inline constexpr std::string_view hessian_sums = ".sums", hessian_exponents = ".exponents",
                                  hessian_counts = ".counts";

[[nodiscard]] TQ_API std::string part_of(const std::string& name, std::string_view ending);
}  // namespace store::detail

/// Writes Hessians to an .npz file, one at a time.
///
///     HessianWriter writer(path);
///     writer.add("fc1", hessian);
///     writer.finish();   // without it the target keeps its old content
class HessianWriter {
 public:
  /// Throws: `errc::io_failure`.
  explicit HessianWriter(const std::filesystem::path& path, io::Links links = io::Links::followed)
      : file_(path, links) {}

  /// Throws: `errc::bad_argument` for a name that is empty, repeated or not UTF-8;
  /// `errc::io_failure`.
  TQ_API void add(const std::string& name, const Hessian& hessian);

  /// Makes the file visible under its name. Throws: `errc::io_failure`.
  void finish() { file_.finish(); }

 private:
  io::NpzWriter file_;
};

/// A file of Hessians; each is read when it is asked for.
class HessianFile {
 public:
  /// Throws: `errc::io_failure`; `errc::malformed` for a file that holds anything else.
  TQ_API explicit HessianFile(const std::filesystem::path& path);

  /// The names of the Hessians, in the order of the file.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] TQ_API bool contains(std::string_view name) const;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// The inputs of the Hessian of that name. Throws: as `read`.
  [[nodiscard]] TQ_API std::size_t inputs(const std::string& name) const;

  /// The Hessian of that name. Any thread may call it. Throws: `errc::unknown_name`, with the
  /// closest name there is; `errc::malformed` for parts that are no state of a Hessian;
  /// `errc::io_failure`.
  [[nodiscard]] TQ_API Hessian read(const std::string& name) const;

 private:
  static constexpr std::array<std::string_view, 3> endings{
      store::detail::hessian_counts, store::detail::hessian_exponents, store::detail::hessian_sums};

  TQ_API static io::TensorFile opened(const std::filesystem::path& path);
  TQ_API void require(const std::string& name) const;
  [[noreturn]] TQ_API void refuse(const std::string& text) const;
  template <class T>
  [[nodiscard]] std::vector<T> part(io::TensorFile& reader, const std::string& name) const {
    const io::TensorInfo* info = reader.find(name);
    if (info == nullptr || info->dtype != io::dtype_of<T>::value || info->shape.size() != 1)
      refuse("tensor " + io::shown(name) + ": expected " +
             std::string(to_string(io::dtype_of<T>::value)) + " of one axis, got " +
             (info == nullptr
                  ? std::string("none")
                  : std::string(to_string(info->dtype)) + " " + io::shape_text(info->shape)));
    return io::values<T>(reader.read(name));
  }

  io::TensorFile file_;
  std::filesystem::path path_;
  std::vector<std::string> names_;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/hessian_file.ipp>
#endif
