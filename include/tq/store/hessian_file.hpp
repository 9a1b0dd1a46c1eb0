// SPDX-License-Identifier: MIT
#pragma once
// Files of Hessians: everything they know, so that they are stored, merged elsewhere and continued.
//
// The Hessian "w" is stored in an .npz file as
//   w.sums        I64, the upper triangle of the sums of products, row by row
//   w.exponents   I32, of the step of each input
//   w.counts      U64 [3]: bits, tokens, tokens that were left out

#include <tq/containers/npz_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/error.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/failure.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/missing_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

namespace store::detail {
inline constexpr std::string_view hessian_sums = ".sums", hessian_exponents = ".exponents",
                                  hessian_counts = ".counts";

[[nodiscard]] inline std::string part_of(const std::string& name, std::string_view ending) {
  return name + std::string(ending);
}
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
  void add(const std::string& name, const Hessian& hessian) {
    using store::detail::part_of;
    const Hessian::State state = hessian.state();
    if (name.empty())
      raise(errc::bad_argument, "tq::HessianWriter: expected a name, got an empty one");
    const std::vector<std::int32_t> exponents(state.exponents.begin(), state.exponents.end());
    const std::array<std::uint64_t, 3> counts{static_cast<std::uint64_t>(state.bits), state.tokens,
                                              state.left_out};
    file_.add(
        io::from_values<std::uint64_t>(part_of(name, store::detail::hessian_counts), {3}, counts));
    file_.add(io::from_values<std::int32_t>(part_of(name, store::detail::hessian_exponents),
                                            {exponents.size()}, exponents));
    file_.add(io::from_values<std::int64_t>(part_of(name, store::detail::hessian_sums),
                                            {state.sums.size()}, state.sums));
  }

  /// Makes the file visible under its name. Throws: `errc::io_failure`.
  void finish() { file_.finish(); }

 private:
  io::NpzWriter file_;
};

/// A file of Hessians; each is read when it is asked for.
class HessianFile {
 public:
  /// Throws: `errc::io_failure`; `errc::malformed` for a file that holds anything else.
  explicit HessianFile(const std::filesystem::path& path) : file_(opened(path)), path_(path) {
    using namespace store::detail;
    for (const io::TensorInfo& tensor : file_.tensors()) {
      const std::string_view name = tensor.name;
      const auto found = std::ranges::find_if(
          endings, [&](std::string_view ending) { return name.ends_with(ending); });
      if (found == endings.end()) refuse("expected Hessians, got tensor " + io::shown(tensor.name));
      if (*found == hessian_counts)
        names_.emplace_back(name.substr(0, name.size() - found->size()));
    }
    if (names_.size() * endings.size() != file_.tensors().size())
      refuse("expected the counts, exponents and sums of each Hessian, got " +
             std::to_string(file_.tensors().size()) + " tensors for " +
             std::to_string(names_.size()) + " of them");
  }

  /// The names of the Hessians, in the order of the file.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] bool contains(std::string_view name) const {
    return std::ranges::find(names_, name) != names_.end();
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// The inputs of the Hessian of that name. Throws: as `read`.
  [[nodiscard]] std::size_t inputs(const std::string& name) const {
    using namespace store::detail;
    require(name);
    const io::TensorInfo* info = file_.find(part_of(name, hessian_exponents));
    if (info == nullptr || info->shape.size() != 1)
      refuse("Hessian " + io::shown(name) + ": expected exponents of one axis");
    return info->shape[0];
  }

  /// The Hessian of that name. Any thread may call it. Throws: `errc::unknown_name`, with the
  /// closest name there is; `errc::malformed` for parts that are no state of a Hessian;
  /// `errc::io_failure`.
  [[nodiscard]] Hessian read(const std::string& name) const {
    using store::detail::part_of;
    require(name);
    io::TensorFile reader = file_.another();
    const auto counts = part<std::uint64_t>(reader, part_of(name, store::detail::hessian_counts));
    const auto exponents =
        part<std::int32_t>(reader, part_of(name, store::detail::hessian_exponents));
    if (counts.size() != 3)
      refuse("Hessian " + io::shown(name) + ": expected 3 counts, got " +
             std::to_string(counts.size()));
    return store::detail::in_context(
        [&] { return path_.string() + ": Hessian " + io::shown(name); },
        [&] {
          return Hessian::from_state(
              {counts[0] == 16 || counts[0] == 14 ? static_cast<int>(counts[0]) : 0,
               counts[1],
               counts[2],
               {exponents.begin(), exponents.end()},
               part<std::int64_t>(reader, part_of(name, store::detail::hessian_sums))});
        });
  }

 private:
  static constexpr std::array<std::string_view, 3> endings{
      store::detail::hessian_counts, store::detail::hessian_exponents, store::detail::hessian_sums};

  static io::TensorFile opened(const std::filesystem::path& path) {
    store::require_there(path);
    return io::open_tensor_file(path);
  }
  void require(const std::string& name) const {
    if (!contains(name))
      detail::raise_expected(errc::unknown_name, path_.string(), {"the name of a Hessian"},
                             {io::shown(name), did_you_mean(name, names_)});
  }
  [[noreturn]] void refuse(const std::string& text) const {
    detail::raise_text(errc::malformed, {path_.string(), ": ", text});
  }
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
