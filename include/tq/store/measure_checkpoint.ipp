// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/measure_checkpoint.hpp.

#include <tq/store/detail/measure_checkpoint.hpp>
#include <tq/store/measure_checkpoint.hpp>
#include <tq/store/stored_model.hpp>
#ifndef TQ_FILE_BODIES
#include <tq/store/detail/erased_format.ipp>
#endif

#ifdef TQ_FILE_BODIES
namespace tq::store::detail {

template CheckpointMeasurement measure_checkpoint<StoredModel>(const std::filesystem::path&,
                                                               const std::vector<NamedFormat>&,
                                                               const CheckpointOptions&,
                                                               LayerErrors);

}  // namespace tq::store::detail
#endif
