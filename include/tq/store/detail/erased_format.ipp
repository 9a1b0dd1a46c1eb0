// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/detail/erased_format.hpp.

#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/erased_format.hpp>
#ifdef TQ_FILE_BODIES
#include <tq/checkpoints/format/awq.hpp>
#include <tq/checkpoints/format/bitsandbytes.hpp>
#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/fp8.hpp>
#include <tq/checkpoints/format/gptq.hpp>
#include <tq/checkpoints/format/mixture.hpp>
#include <tq/checkpoints/format/mlx.hpp>
#include <tq/checkpoints/format/modelopt.hpp>
#include <tq/checkpoints/format/mxfp4.hpp>
#endif

#include <memory>

namespace tq::store::detail {

template <io::WritableFormat F>
TQ_API std::shared_ptr<const AnyFormat> erased(const F& format) {
  return std::make_shared<const ErasedFormat<F>>(format);
}

#ifdef TQ_FILE_BODIES
template std::shared_ptr<const AnyFormat> erased(const format::awq&);
template std::shared_ptr<const AnyFormat> erased(const format::bitsandbytes&);
template std::shared_ptr<const AnyFormat> erased(const format::compressed_tensors&);
template std::shared_ptr<const AnyFormat> erased(const format::fp8&);
template std::shared_ptr<const AnyFormat> erased(const format::gptq&);
template std::shared_ptr<const AnyFormat> erased(const format::mlx&);
template std::shared_ptr<const AnyFormat> erased(const format::modelopt&);
template std::shared_ptr<const AnyFormat> erased(const format::mxfp4&);
template std::shared_ptr<const AnyFormat> erased(
    const format::mixture<format::compressed_tensors>&);
template std::shared_ptr<const AnyFormat> erased(const format::mixture<format::mlx>&);
#endif

}  // namespace tq::store::detail
