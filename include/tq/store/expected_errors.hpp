// SPDX-License-Identifier: MIT
#pragma once
// ExpectedErrors: expected errors of the weights of a model, by the Hessians of their inputs.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/model/weight_axes.hpp>
#include <tq/ptq/expected_error.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/store/detail/conv1d_model.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/float_reader.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// Makes the `ExpectedError` of each weight that has a Hessian. For one thread.
template <class Model = StoredModel>
class ExpectedErrors {
 public:
  /// The model and the Hessians outlive it.
  ExpectedErrors(Model& model, const Hessians& hessians, FactorOptions options = {})
      : floats_(model), conv1d_(model.contents()), hessians_(hessians), options_(options) {}

  /// True for a matrix [outputs, inputs] that has a Hessian.
  [[nodiscard]] bool has(const StoredTensor& tensor) const {
    return tensor.shape.size() == 2 && tensor.axes == WeightAxes::outputs_first &&
           !conv1d_.has_inputs_first(tensor) && hessians_.name_for(tensor.name).has_value();
  }

  /// Nothing for a tensor without a Hessian and for one that is no matrix [outputs, inputs]. Reads
  /// the tensor. Throws: as `ExpectedError`, naming the tensor; as `Hessians` and the model.
  [[nodiscard]] std::optional<ExpectedError> of(const StoredTensor& tensor) {
    if (!has(tensor)) return std::nullopt;
    return store::naming(tensor.name, [&] {
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      floats_.for_each(tensor, [&](std::size_t first, std::span<const float> some) {
        std::ranges::copy(some, values.begin() + static_cast<std::ptrdiff_t>(first));
      });
      return ExpectedError(ConstTensorView(values.data(), store::to_shape(tensor.shape)),
                           hessians_.get(*hessians_.name_for(tensor.name)), options_);
    });
  }

 private:
  store::FloatReader<Model> floats_;
  store::detail::Conv1dModel conv1d_;
  const Hessians& hessians_;
  FactorOptions options_;
};

}  // namespace tq
