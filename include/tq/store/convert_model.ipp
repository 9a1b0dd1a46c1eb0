// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/convert_model.hpp.

#include <tq/core/element_lists.hpp>
#include <tq/json/quant_config_json.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/convert_model.hpp>
#include <tq/store/detail/convert.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/stored_model.hpp>

namespace tq {

template <class Model>
TQ_API ConversionReport convert_model(const std::filesystem::path& in,
                                      const std::filesystem::path& out, const QuantSpec& spec,
                                      const ConvertOptions& options) {
  store::detail::SchemeSource source;
  source.spec = spec;
  source.algorithm = options.algorithm;
  return store::detail::convert<Model>(in.string(), out.string(), source, options);
}

template <class Model>
TQ_API ConversionReport convert_model(const std::filesystem::path& in,
                                      const std::filesystem::path& out, const QuantConfig& config,
                                      const ConvertOptions& options) {
  store::detail::SchemeSource source;
  source.read_config = [&] { return config; };
  source.label = "config";
  return store::detail::convert<Model>(in.string(), out.string(), source, options);
}

template <class Model>
TQ_API ConversionReport convert_model(const std::filesystem::path& in,
                                      const std::filesystem::path& out,
                                      const std::filesystem::path& config_file,
                                      const ConvertOptions& options) {
  store::detail::SchemeSource source;
  source.read_config = [&] {
    store::require_there(config_file);
    return io::read_quant_config<all_elements, all_scales>(config_file);
  };
  source.label = source.file = config_file.string();
  return store::detail::convert<Model>(in.string(), out.string(), source, options);
}

#ifdef TQ_FILE_BODIES
template ConversionReport convert_model<StoredModel>(const std::filesystem::path&,
                                                     const std::filesystem::path&, const QuantSpec&,
                                                     const ConvertOptions&);
template ConversionReport convert_model<StoredModel>(const std::filesystem::path&,
                                                     const std::filesystem::path&,
                                                     const QuantConfig&, const ConvertOptions&);
template ConversionReport convert_model<StoredModel>(const std::filesystem::path&,
                                                     const std::filesystem::path&,
                                                     const std::filesystem::path&,
                                                     const ConvertOptions&);
#endif

}  // namespace tq
