// SPDX-License-Identifier: MIT
#pragma once
// ActivationBatches: the tensors of a data set by the layers whose inputs they are.

#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/ptq/hessian_stack.hpp>
#include <tq/store/data_files.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

class ActivationBatches {
 public:
  // Throws: as `data_files` and `open_tensor_file`; `errc::bad_argument` for a file that is given
  // twice and for GGUF files, which hold weights or importances; `errc::no_data` where no tensor
  // can be one of activations; `errc::shape_mismatch` for batches of a layer with other inputs.
  explicit ActivationBatches(const std::vector<std::string>& data) : files_(data_files(data)) {
    require_once();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].extension() == ".gguf")
        tq::detail::raise_expected(errc::bad_argument, files_[i].string(),
                                   {".npy, .npz or .safetensors files of activations"},
                                   {"a GGUF file"});
      const io::TensorFile reader = io::open_tensor_file(files_[i]);
      bool is_used = false;
      for (const io::TensorInfo& tensor : reader.tensors()) {
        if (!is_quantizable(tensor.dtype) || tensor.shape.empty()) continue;
        add(batch_of(files_[i], tensor.name), {i, tensor});
        is_used = true;
      }
      if (is_used) used_.push_back(files_[i]);
    }
    if (batches_.empty())
      tq::detail::raise_expected(
          errc::no_data, (files_.empty() ? std::string("activations") : files_.front().string()),
          {"float tensors [..., inputs]"}, {"none"});
  }

  // By the first of their batches.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  // The files that have batches: a file of Hessians among the data has none.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept { return used_; }

  // The Hessian of all batches of a name, added to `start` if there is one. Throws: as `Hessian`,
  // naming the file and the tensor.
  [[nodiscard]] Hessian hessian(const std::string& name, int bits,
                                std::optional<Hessian> start) const {
    if (!start) {
      Observer<AbsMax, PerChannel<-1>> range;
      for_each_piece(name, [&](const ConstTensorView& x) { range.observe(x); });
      start.emplace(naming(name, [&] { return Hessian(range, bits); }));
    }
    for_each_piece(name, [&](const ConstTensorView& x) { start->add(x); });
    return *std::move(start);
  }

  // The Hessians of the groups of a layer. Throws: as above, and as `HessianStack`.
  [[nodiscard]] HessianStack<Hessian> hessians(const std::string& name, int bits,
                                               std::size_t groups) const {
    Observer<AbsMax, PerChannel<-1>> range;
    for_each_piece(name, [&](const ConstTensorView& x) { range.observe(x); });
    auto out = naming(name, [&] { return HessianStack<Hessian>(groups, range, bits); });
    for_each_piece(name, [&](const ConstTensorView& x) { out.add(x); });
    return out;
  }

  // The inputs of a token.
  [[nodiscard]] std::size_t inputs(const std::string& name) const {
    return batches_.at(name).front().inputs();
  }
  // Calls f(tokens [some, inputs]) for pieces of all batches of a name. Throws: as `f`, naming the
  // file and the tensor.
  template <class F>
  void for_each_piece(const std::string& name, F&& f) const {
    for (const Batch& batch : batches_.at(name)) for_each_piece_of(batch, f);
  }

 private:
  struct Batch {
    std::size_t file;
    io::TensorInfo tensor;

    [[nodiscard]] std::size_t inputs() const { return tensor.shape.back(); }
  };

  void require_once() const {
    std::set<std::filesystem::path> seen;
    for (const std::filesystem::path& file : files_)
      if (!seen.insert(std::filesystem::weakly_canonical(file)).second)
        tq::detail::raise_expected(errc::bad_argument, file.string(),
                                   {"every file of activations once"}, {"it twice"});
  }
  void add(const std::string& name, Batch batch) {
    std::vector<Batch>& known = batches_[name];
    if (known.empty()) names_.push_back(name);
    else if (known.front().inputs() != batch.inputs())
      tq::detail::raise_text(
          errc::shape_mismatch,
          {files_[batch.file].string(), ": tensor ", io::shown(batch.tensor.name),
           ": expected [..., ", known.front().inputs(), "], as in ",
           files_[known.front().file].string(), ", got ", io::shape_text(batch.tensor.shape)});
    known.push_back(std::move(batch));
  }

  // A reader of the file of a batch; a data set has more files than a process may have open.
  [[nodiscard]] io::TensorFile reader_of(const Batch& batch) const {
    io::TensorFile reader = io::open_tensor_file(files_[batch.file]);
    const io::TensorInfo& now = reader.info(batch.tensor.name);
    if (now.dtype != batch.tensor.dtype || now.shape != batch.tensor.shape ||
        now.offset != batch.tensor.offset)
      tq::detail::raise_expected(errc::io_failure, files_[batch.file].string(),
                                 {"tensor ", io::shown(now.name), " as before"},
                                 {"another: was it written?"});
    return reader;
  }

  // Calls f(some tokens).
  template <class F>
  void for_each_piece_of(const Batch& batch, F&& f) const {
    const std::size_t inputs = batch.inputs();
    const std::uint64_t tokens = inputs == 0 ? 0 : *io::element_count(batch.tensor.shape) / inputs;
    const std::uint64_t most =
        std::max<std::uint64_t>(1, most_held / std::max<std::size_t>(inputs, 1));
    io::TensorFile reader = reader_of(batch);
    std::vector<std::byte> bytes;
    std::vector<float> values;
    in_context(
        [&] { return files_[batch.file].string() + ": tensor " + io::shown(batch.tensor.name); },
        [&] {
          for (std::uint64_t t = 0; t < tokens; t += most) {
            const auto count = static_cast<std::size_t>(std::min(most, tokens - t));
            bytes.resize(io::detail::bytes_of(batch.tensor.dtype, count * inputs));
            reader.read_range(batch.tensor, t * inputs * bits(batch.tensor.dtype) / 8, bytes);
            values.resize(count * inputs);
            io::to_float32(batch.tensor.dtype, bytes, values);
            f(ConstTensorView(values.data(), {count, inputs}));
          }
        });
  }

  static constexpr std::uint64_t most_held = std::uint64_t{1} << 21;  // elements

  std::vector<std::filesystem::path> files_, used_;
  std::vector<std::string> names_;
  std::map<std::string, std::vector<Batch>> batches_;
};

}  // namespace tq::store::detail
