// SPDX-License-Identifier: MIT
#pragma once
// Whole models: schemes chosen at run time, configurations, quantizers, and the selection of
// precisions.

#include <tq/model/any_observer.hpp>
#include <tq/model/byte_weights_of.hpp>
#include <tq/model/calibrator_options.hpp>
#include <tq/model/grouped_weights_of.hpp>
#include <tq/model/name_pattern.hpp>
#include <tq/model/named_calibrators.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/node_selector.hpp>
#include <tq/model/quant_config.hpp>
#include <tq/model/quant_node.hpp>
#include <tq/model/quantizer.hpp>
#include <tq/model/summary.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/encoded_conversion.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/name_lists.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/piece_coder.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/stored_parameters.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/scheme/visit.hpp>
#include <tq/select/frontier.hpp>
#include <tq/select/measured.hpp>
#include <tq/select/precision_model.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/select/probed.hpp>
#include <tq/select/product_times.hpp>
#include <tq/select/refined.hpp>
