#pragma once

#include "layers/ops/list.h"

namespace penstock::layers {

class Stream;

// Both classes below recurse over the list in one line of inheritance, one operation per base,
// rather than with one base class per operation. So an object keeps one virtual table pointer, and
// a call costs one jump.

/// Declares a pure virtual run(stream, operation) for every operation of a list.
template <class List>
class OperationInterface;

template <>
class OperationInterface<OperationList<>> {
 public:
  virtual ~OperationInterface() = default;
  void run() = delete;  // gives the using-declaration below a name
};

template <class First, class... Rest>
class OperationInterface<OperationList<First, Rest...>>
    : public OperationInterface<OperationList<Rest...>> {
 public:
  using OperationInterface<OperationList<Rest...>>::run;
  virtual void run(Stream& stream, const First& op) = 0;
};

/// Implements run(stream, operation) of every operation of the list by Self::compute(stream,
/// operation), a template. It stands between `Base`, an interface or a class that implements it,
/// and `Self`. Derive as `class Self : public OperationDispatch<Self, Base>`.
template <class Self, class Base, class List = Operations>
class OperationDispatch;

template <class Self, class Base>
class OperationDispatch<Self, Base, OperationList<>> : public Base {
 public:
  using Base::Base;
};

template <class Self, class Base, class First, class... Rest>
class OperationDispatch<Self, Base, OperationList<First, Rest...>>
    : public OperationDispatch<Self, Base, OperationList<Rest...>> {
  using Next = OperationDispatch<Self, Base, OperationList<Rest...>>;

 public:
  using Next::Next;
  using Next::run;
  void run(Stream& stream, const First& op) override {
    static_cast<Self&>(*this).compute(stream, op);
  }
};

}  // namespace penstock::layers
