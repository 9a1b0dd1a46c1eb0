// SPDX-License-Identifier: MIT
#pragma once
// AnyFormat: a WritableFormat at run time, so that one pipeline is compiled for all.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/json/json_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::store::detail {

// The members of WritableFormat; those that are optional, of every format; and rows_at_once, the
// fewest outputs of a layer that the format quantizes apart, 0 for layers that it quantizes as a
// whole.
class AnyFormat {
 public:
  AnyFormat() = default;
  AnyFormat(const AnyFormat&) = delete;
  AnyFormat& operator=(const AnyFormat&) = delete;
  virtual ~AnyFormat() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view metadata() const = 0;
  [[nodiscard]] virtual bool takes_experts_whole() const = 0;
  [[nodiscard]] virtual bool takes_head() const = 0;
  virtual void require_valid() const = 0;
  [[nodiscard]] virtual std::string problem(const io::LinearWeight& layer,
                                            std::size_t shards) const = 0;
  [[nodiscard]] virtual bool needs_set_abs_max() const = 0;
  [[nodiscard]] virtual bool needs_inputs_abs_max(const io::LinearWeight& layer) const = 0;
  [[nodiscard]] virtual std::vector<io::TensorDecl> declarations(
      const io::LinearWeight& layer) const = 0;
  // `coder` may be null. Throws: as the format; `errc::unsupported` for a coder, where the format
  // takes none.
  [[nodiscard]] virtual std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                         ConstTensorView values,
                                                         const io::WeightCoder* coder) const = 0;
  [[nodiscard]] virtual bool takes_algorithms() const = 0;
  [[nodiscard]] virtual std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                     const CheckpointTensor& weight) const = 0;
  [[nodiscard]] virtual io::Json quantization_config(const io::WrittenModel& model) const = 0;
  [[nodiscard]] virtual std::vector<std::pair<std::string, io::Json>> more_config(
      const io::Json& config) const = 0;
  [[nodiscard]] virtual std::vector<std::string> notes() const = 0;
  [[nodiscard]] virtual std::vector<std::string> modules() const = 0;
  [[nodiscard]] virtual std::size_t rows_at_once(const io::LinearWeight& layer) const = 0;
  [[nodiscard]] virtual std::string stack_of(const std::string& module,
                                             const std::string& model_type) const = 0;
};

template <io::WritableFormat F>
class ErasedFormat final : public AnyFormat {
 public:
  explicit ErasedFormat(const F& format) : format_(format) {}

  std::string_view name() const override { return F::name; }
  std::string_view metadata() const override { return F::metadata; }
  bool takes_experts_whole() const override { return F::takes_experts_whole; }
  void require_valid() const override { format_.require_valid(); }
  std::string problem(const io::LinearWeight& layer, std::size_t shards) const override {
    return format_.problem(layer, shards);
  }
  bool needs_set_abs_max() const override { return format_.needs_set_abs_max(); }
  bool needs_inputs_abs_max([[maybe_unused]] const io::LinearWeight& layer) const override {
    if constexpr (requires { format_.needs_inputs_abs_max(layer); })
      return format_.needs_inputs_abs_max(layer);
    else return false;
  }
  std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const override {
    return format_.declarations(layer);
  }
  std::vector<io::Tensor> quantize(const io::LinearWeight& layer, ConstTensorView values,
                                   const io::WeightCoder* coder) const override {
    if constexpr (has_coder) return format_.quantize(layer, values, coder);
    if (coder != nullptr)
      tq::detail::raise_expected(errc::unsupported, name(), {"no algorithm"}, {"one"});
    return format_.quantize(layer, values);
  }
  bool takes_algorithms() const override { return has_coder; }
  std::vector<io::Tensor> save(const io::LinearWeight& layer,
                               const CheckpointTensor& weight) const override {
    return format_.save(layer, weight);
  }
  io::Json quantization_config(const io::WrittenModel& model) const override {
    return format_.quantization_config(model);
  }
  std::vector<std::pair<std::string, io::Json>> more_config(
      [[maybe_unused]] const io::Json& config) const override {
    if constexpr (requires { format_.more_config(config); }) return format_.more_config(config);
    else return {};
  }
  bool takes_head() const override {
    if constexpr (requires { F::takes_head; }) return F::takes_head;
    else return false;
  }
  std::vector<std::string> notes() const override { return format_.notes(); }
  std::vector<std::string> modules() const override {
    if constexpr (requires { format_.modules(); }) return format_.modules();
    else return {};
  }
  std::size_t rows_at_once([[maybe_unused]] const io::LinearWeight& layer) const override {
    if constexpr (requires { format_.rows_at_once(layer); }) return format_.rows_at_once(layer);
    else return 0;
  }
  std::string stack_of([[maybe_unused]] const std::string& module,
                       [[maybe_unused]] const std::string& model_type) const override {
    if constexpr (requires { F::stack_of(module, model_type); })
      return F::stack_of(module, model_type);
    else return {};
  }

 private:
  static constexpr bool has_coder =
      requires(const F& f, const io::LinearWeight& layer, const ConstTensorView& x,
               const io::WeightCoder* c) { f.quantize(layer, x, c); };

  F format_;
};

}  // namespace tq::store::detail
