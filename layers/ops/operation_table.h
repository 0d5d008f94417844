#pragma once

#include <typeindex>
#include <unordered_map>

namespace penstock::layers {

class Backend;
class Stream;

/// The functions of a backend: one for each type of operation that it runs.
///
/// A backend is chosen at run time, and an operation is a plain struct, so a call needs two types
/// to find its function. Each backend object has a table, keyed by the operation's type, that its
/// constructor fills from layers/ops/list.h. So Backend knows no operation, and a new operation
/// compiles only the backends again. Invariant: a table has a function for every operation of the
/// list. Cost: a lookup in a hash map, tens of nanoseconds beside an operation's microseconds.
class OperationTable {
 public:
  /// Enters or replaces `Self::compute(stream, operation)` as the function of an operation. `Self`
  /// is the type of the backend that the table belongs to.
  template <class Self, class Operation>
  void set() {
    functions_[typeid(Operation)] = [](Backend& backend, Stream& stream, const void* operation) {
      static_cast<Self&>(backend).compute(stream, *static_cast<const Operation*>(operation));
    };
  }

  /// Runs the backend's function of the operation. DeviceError if the table has none.
  template <class Operation>
  void run(Backend& backend, Stream& stream, const Operation& operation) const {
    const auto at = functions_.find(typeid(Operation));
    if (at == functions_.end()) throw_missing(typeid(Operation).name());
    at->second(backend, stream, &operation);
  }

 private:
  [[noreturn]] static void throw_missing(const char* operation);

  using Function = void (*)(Backend& backend, Stream& stream, const void* operation);
  std::unordered_map<std::type_index, Function> functions_;
};

}  // namespace penstock::layers
