// SPDX-License-Identifier: MIT
#pragma once
// The names of stored models, for functions that open one.

#include <tq/core/element_lists.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/type_list.hpp>

namespace tq {

template <class Types = all_elements, class ScaleTypes = all_scales, Backend B = default_backend>
class BasicStoredModel;

/// A model with tensors of any scheme.
using StoredModel = BasicStoredModel<>;

}  // namespace tq
