// SPDX-License-Identifier: Apache-2.0
//
// The C functions of communicators, calls and rows. Each checks its pointers, calls the C++ method,
// and keeps the error for the calling thread.
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <infold/infold.h>
#include <infold/local_group.h>

#include "api/c_state.h"

struct infold_handle {
  infold::Handle value;
};
struct infold_rows {
  infold::Rows value;
};

using namespace infold::c_abi;

namespace {

static_assert(static_cast<int>(infold::Code::pending) == INFOLD_ERROR_PENDING);
static_assert(static_cast<int>(infold::DataType::i64) == INFOLD_TYPE_I64);
static_assert(static_cast<int>(infold::Reduction::bit_or) == INFOLD_OP_OR);
static_assert(static_cast<int>(infold::WireFormat::fixed32) == INFOLD_WIRE_FIXED32);
static_assert(static_cast<int>(infold::WireFormat::native) == INFOLD_WIRE_NATIVE);
static_assert(static_cast<int>(infold::WireFormat::digits) == INFOLD_WIRE_DIGITS);
static_assert(static_cast<int>(infold::Priority::background) == INFOLD_PRIORITY_BACKGROUND);
static_assert(static_cast<int>(infold::Layout::blocks) == INFOLD_LAYOUT_BLOCKS);
static_assert(static_cast<int>(infold::Layout::automatic) == INFOLD_LAYOUT_AUTOMATIC);

infold::TensorView view(const void* data, std::size_t elements, infold_type type) {
  return {data, elements, enum_of<infold::DataType>(type)};
}
infold::MutableTensorView view(void* data, std::size_t elements, infold_type type) {
  return {data, elements, enum_of<infold::DataType>(type)};
}

infold::RowsView view(const infold_rows_view& given) {
  return {{given.indices, given.indices == nullptr ? 0 : given.count},
          {given.values, given.count * given.row_elements, enum_of<infold::DataType>(given.type)},
          given.rows,
          given.row_elements};
}

// What is wrong with the rows, or null.
const char* fault_of(const infold_rows_view* given) {
  if (given == nullptr) return "the rows are a null pointer";
  if (given->struct_bytes != sizeof(*given)) {
    return "infold_rows_view has another size here; fill it with its _default function";
  }
  const bool is_absurd = given->row_elements > 0 && given->count > SIZE_MAX / given->row_elements;
  if (is_absurd) return "the rows have more values than a size_t can count";
  return given->count > 0 && given->indices == nullptr ? "the indices are a null pointer" : nullptr;
}

template <typename Start>
infold_code start(infold_communicator* communicator, const infold_call_options* options,
                  infold_handle** handle, Start&& start_call) {
  if (communicator == nullptr || handle == nullptr) {
    return refuse("the communicator or the place for the handle is a null pointer");
  }
  if (options != nullptr && options->struct_bytes != sizeof(*options)) {
    return refuse("infold_call_options has another size here; fill it with its _default function");
  }
  return guarded([&] {
    infold::CallOptions call;
    if (options != nullptr) {
      call.reduction = enum_of<infold::Reduction>(options->op);
      call.wire = enum_of<infold::WireFormat>(options->wire);
      call.priority = enum_of<infold::Priority>(options->priority);
      call.layout = enum_of<infold::Layout>(options->layout);
      call.keep_input = options->keep_input != 0;
      call.deadline = std::chrono::nanoseconds(options->deadline_ns);
    }
    *handle = new infold_handle{start_call(communicator->value, call)};
    return INFOLD_OK;
  });
}

infold_code finish(const infold::Result<infold::Completion>& result, std::int32_t* ranks_summed) {
  if (!result) return fail(result.error());
  if (ranks_summed != nullptr) *ranks_summed = result->ranks_summed;
  return INFOLD_OK;
}

}  // namespace

extern "C" {

uint32_t infold_abi_version(void) { return INFOLD_ABI_VERSION; }

const char* infold_code_name(infold_code code) {
  return code == INFOLD_OK ? "ok" : infold::code_name(enum_of<infold::Code>(code));
}
infold_local_group_options infold_local_group_options_default(void) {
  const infold::LocalGroupOptions defaults;
  infold_local_group_options options{};
  options.struct_bytes = sizeof(options);
  options.world = defaults.world;
  options.rack_size = defaults.rack_size;
  options.mtu_bytes = defaults.mtu_bytes;
  options.wire = static_cast<infold_wire>(defaults.wire);
  options.deadline_ns = defaults.deadline.count();
  options.seed = defaults.faults.seed;
  return options;
}

infold_code infold_local_group_create(const infold_local_group_options* options,
                                      infold_communicator** communicators) {
  if (options == nullptr || communicators == nullptr) {
    return refuse("the options or the place for the communicators is a null pointer");
  }
  if (options->struct_bytes != sizeof(*options)) {
    return refuse(
        "infold_local_group_options has another size here; fill it with its _default "
        "function");
  }
  return guarded([&]() -> infold_code {
    infold::LocalGroupOptions group_options;
    group_options.world = options->world;
    group_options.rack_size = options->rack_size;
    group_options.mtu_bytes = options->mtu_bytes;
    group_options.wire = enum_of<infold::WireFormat>(options->wire);
    group_options.deadline = std::chrono::nanoseconds(options->deadline_ns);
    group_options.faults = {options->loss, options->duplication, options->reordering,
                            options->seed};
    infold::Result<infold::LocalGroup> group = infold::LocalGroup::create(group_options);
    if (!group) return fail(group.error());
    std::vector<std::unique_ptr<infold_communicator>> made;
    for (int rank = 0; rank < group->world(); ++rank) {
      made.push_back(owned(std::move((*group)[rank])));
    }
    for (auto& communicator : made) *communicators++ = communicator.release();
    return INFOLD_OK;
  });
}

void infold_communicator_destroy(infold_communicator* communicator) { delete communicator; }

int32_t infold_rank(const infold_communicator* communicator) {
  return communicator == nullptr ? -1 : communicator->value.rank();
}
int32_t infold_world(const infold_communicator* communicator) {
  return communicator == nullptr ? 0 : communicator->value.world();
}

const char* infold_interface(const infold_communicator* communicator) {
  return communicator == nullptr ? "" : communicator->interface.c_str();
}

infold_call_options infold_call_options_default(void) {
  infold_call_options options{};
  options.struct_bytes = sizeof(options);
  options.keep_input = infold::CallOptions{}.keep_input ? 1 : 0;
  return options;
}

infold_code infold_all_reduce(infold_communicator* communicator, const void* input, void* output,
                              size_t elements, infold_type type, const infold_call_options* options,
                              infold_handle** handle) {
  return start(communicator, options, handle, [&](auto& comm, const auto& call) {
    return comm.all_reduce(view(input, elements, type), view(output, elements, type), call);
  });
}

infold_rows_view infold_rows_view_default(void) {
  infold_rows_view view{};
  view.struct_bytes = sizeof(view);
  view.row_elements = 1;
  return view;
}

infold_code infold_rows_create(infold_rows** rows) {
  if (rows == nullptr) return refuse("the place for the rows is a null pointer");
  return guarded([&] {
    *rows = new infold_rows;
    return INFOLD_OK;
  });
}
void infold_rows_destroy(infold_rows* rows) { delete rows; }

infold_rows_view infold_rows_view_of(const infold_rows* rows) {
  infold_rows_view view = infold_rows_view_default();
  if (rows == nullptr) return view;
  const infold::TensorView values = rows->value.values();
  view.indices = rows->value.indices().data();
  view.values = values.data;
  view.count = rows->value.indices().size();
  view.rows = rows->value.rows();
  view.row_elements = rows->value.row_elements();
  view.type = static_cast<infold_type>(values.type);
  return view;
}

infold_code infold_all_reduce_rows(infold_communicator* communicator, const infold_rows_view* input,
                                   infold_rows* output, const infold_call_options* options,
                                   infold_handle** handle) {
  if (const char* const fault = fault_of(input)) return refuse(fault);
  if (output == nullptr) return refuse("the rows for the result are a null pointer");
  return start(communicator, options, handle, [&](auto& comm, const auto& call) {
    return comm.all_reduce(view(*input), output->value, call);
  });
}

infold_code infold_all_reduce_rows_dense(infold_communicator* communicator,
                                         const infold_rows_view* input, void* output,
                                         const infold_call_options* options,
                                         infold_handle** handle) {
  if (const char* const fault = fault_of(input)) return refuse(fault);
  return start(communicator, options, handle, [&](auto& comm, const auto& call) {
    const std::size_t elements = input->rows * input->row_elements;
    return comm.all_reduce(view(*input), view(output, elements, input->type), call);
  });
}

infold_code infold_reduce(infold_communicator* communicator, const void* input, void* output,
                          size_t elements, infold_type type, int32_t root,
                          const infold_call_options* options, infold_handle** handle) {
  return start(communicator, options, handle, [&](auto& comm, const auto& call) {
    return comm.reduce(view(input, elements, type), view(output, elements, type), root, call);
  });
}

infold_code infold_broadcast(infold_communicator* communicator, void* tensor, size_t elements,
                             infold_type type, int32_t root, const infold_call_options* options,
                             infold_handle** handle) {
  return start(communicator, options, handle, [&](auto& comm, const auto& call) {
    return comm.broadcast(view(tensor, elements, type), root, call);
  });
}

infold_code infold_all_reduce_list(infold_communicator* communicator, void* const* tensors,
                                   const size_t* elements, size_t count, infold_type type,
                                   const infold_call_options* options, infold_handle** handle) {
  if (count > 0 && (tensors == nullptr || elements == nullptr)) {
    return refuse("the list of tensors or of their sizes is a null pointer");
  }
  return start(communicator, options, handle, [&](auto& comm, const auto& call) {
    std::vector<infold::MutableTensorView> list(count);
    for (std::size_t i = 0; i < count; ++i) list[i] = view(tensors[i], elements[i], type);
    return comm.all_reduce_list(list, call);
  });
}

infold_code infold_all_gather(infold_communicator* communicator, const void* input, void* output,
                              size_t part_elements, infold_type type,
                              const infold_call_options* options, infold_handle** handle) {
  return start(communicator, options, handle, [&](auto& comm, const auto& call) {
    const std::size_t elements = part_elements * static_cast<std::size_t>(comm.world());
    return comm.all_gather(view(input, part_elements, type), view(output, elements, type), call);
  });
}

infold_code infold_reduce_scatter(infold_communicator* communicator, const void* input,
                                  void* output, size_t part_elements, infold_type type,
                                  const infold_call_options* options, infold_handle** handle) {
  return start(communicator, options, handle, [&](auto& comm, const auto& call) {
    const std::size_t elements = part_elements * static_cast<std::size_t>(comm.world());
    return comm.reduce_scatter(view(input, elements, type), view(output, part_elements, type),
                               call);
  });
}

infold_code infold_barrier(infold_communicator* communicator, const infold_call_options* options,
                           infold_handle** handle) {
  return start(communicator, options, handle,
               [](auto& comm, const auto& call) { return comm.barrier(call); });
}

infold_code infold_wait(const infold_handle* handle, int32_t* ranks_summed) {
  if (handle == nullptr) return refuse("the handle is a null pointer");
  return guarded([&] { return finish(handle->value.wait(), ranks_summed); });
}

infold_code infold_wait_for(const infold_handle* handle, int64_t timeout_ns,
                            int32_t* ranks_summed) {
  if (handle == nullptr) return refuse("the handle is a null pointer");
  return guarded([&] {
    return finish(handle->value.wait_for(std::chrono::nanoseconds(timeout_ns)), ranks_summed);
  });
}

int32_t infold_test(const infold_handle* handle) {
  return handle == nullptr || handle->value.test() ? 1 : 0;
}
void infold_cancel(infold_handle* handle) {
  if (handle != nullptr) handle->value.cancel();
}
void infold_handle_destroy(infold_handle* handle) { delete handle; }

}  // extern "C"
