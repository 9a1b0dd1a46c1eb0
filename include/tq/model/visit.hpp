// SPDX-License-Identifier: MIT
#pragma once
// visit: from the names in a QuantSpec to the static types they stand for.

#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/type_list.hpp>

#include <string>
#include <string_view>
#include <type_traits>

namespace tq {

namespace detail {

// Calls f(std::type_identity<T>{}) for the listed type of that name. Precondition: there is one.
template <class R, class F, class T, class... Rest>
R with_name(std::string_view name, TypeList<T, Rest...>, F&& f) {
  if constexpr (sizeof...(Rest) > 0)
    if (name != std::string_view(T::name)) return with_name<R>(name, TypeList<Rest...>{}, f);
  return f(std::type_identity<T>{});
}

[[noreturn]] inline void refuse_symmetry(const QuantSpec& spec) {
  raise(errc::unsupported, "tq::visit: expected a symmetry that type " + spec.type +
                               " can have, got \"" + spec.symmetry + "\"");
}

template <class List>
struct first_type;
template <class T, class... Rest>
struct first_type<TypeList<T, Rest...>> {
  using type = T;
};

}  // namespace detail

/// Calls f.template operator()<Type, Symmetry>() for the element type and the symmetry `spec`
/// names, and returns what it returns. Throws: as `visit`.
template <class Types = all_integers, class F>
decltype(auto) visit_type(const QuantSpec& spec, F&& f) {
  using R = decltype(f.template operator()<typename detail::first_type<Types>::type, Symmetric>());
  detail::require_known("tq::visit", "type", Types{}, spec.type);
  detail::require_valid("tq::visit", spec);
  return detail::with_name<R>(spec.type, Types{}, [&]<class T>(std::type_identity<T>) -> R {
    return detail::with_name<R>(spec.symmetry, detail::all_symmetries{},
                                [&]<class S>(std::type_identity<S>) -> R {
                                  if constexpr (SymmetryFor<S, T>)
                                    return f.template operator()<T, S>();
                                  else detail::refuse_symmetry(spec);
                                });
  });
}

/// Calls f.template operator()<Params>(granularity) for the one static type `spec` names, and
/// returns what it returns. The granularity is a dynamic one (PerChannel<>, PerGroup<dynamic,
/// dynamic>, PerBlock<>, PerTensor, PerToken). Only the types in `Types` are instantiated, so a
/// program pays for what it lists.
///
///     tq::visit<tq::TypeList<tq::int4, tq::int8>>(spec, [&]<class Params>(auto granularity) {
///       const auto q = tq::quantize(x, tq::calibrate<Params>(x, granularity));
///     });
///
/// Throws: `errc::unknown_name` for a name that does not exist, with those that do;
/// `errc::unsupported` for a symmetry the type cannot have; `errc::bad_group_size`;
/// `errc::bad_axis`.
template <class Types = all_integers, class F>
decltype(auto) visit(const QuantSpec& spec, F&& f) {
  using first = QuantParams<typename detail::first_type<Types>::type, PerTensor, Symmetric>;
  using R = decltype(f.template operator()<first>(PerTensor{}));
  return visit_type<Types>(spec, [&]<class T, class S>() -> R {
    return detail::with_name<R>(spec.granularity, detail::all_granularities{},
                                [&]<class G>(std::type_identity<G>) -> R {
                                  return f.template operator()<QuantParams<T, G, S>>(
                                      detail::granularity_from<G>::make(spec));
                                });
  });
}

/// Calls f(numerics) with the preset of that name (onnx or torch), and returns what it returns.
/// Throws: `errc::unknown_name`.
template <class F>
decltype(auto) visit_numerics(std::string_view name, F&& f) {
  using R = decltype(f(numerics::onnx{}));
  detail::require_known("tq::visit_numerics", "numerics", detail::all_numerics{}, name);
  return detail::with_name<R>(
      name, detail::all_numerics{},
      [&]<class P>(std::type_identity<P>) -> R { return f(typename P::type{}); });
}

/// Checks everything about `spec` that can be checked without a tensor. Throws: as `visit`.
template <class Types = all_integers>
void validate(const QuantSpec& spec) {
  visit_type<Types>(spec, []<class T, class S>() {});
}

}  // namespace tq
