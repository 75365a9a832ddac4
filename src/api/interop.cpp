// SPDX-License-Identifier: Apache-2.0
// Entry points of Level Zero interoperability. Execution is in primitive.cpp, modules are in
// interop_modules.cpp.
#include <cstring>

#include "api/give_bytes.hpp"
#include "common/guard.hpp"
#include "primitive/objects.hpp"
#include "zemm/zemm_ze.h"

using namespace zemm;

namespace {

// The content of an engine cache blob. Creating an engine takes no time worth saving, so the blob
// only names the device and driver that it was made for.
struct engine_blob {
    struct identity {
        uint8_t device_uuid[ZE_MAX_DEVICE_UUID_SIZE] = {};
        uint8_t driver_uuid[ZE_MAX_DRIVER_UUID_SIZE] = {};
        uint32_t driver_version = 0;
    };
    char magic[8] = {'z', 'e', 'm', 'm', 'e', 'n', 'g', '1'};
    identity made_for;
};
static_assert(sizeof(engine_blob) == 44, "no padding: the blob is compared byte by byte");

engine_blob::identity identity_of(ze_driver_handle_t driver, ze_device_handle_t device) {
    const ze::api &fn = ze::api_of(device);
    ze_device_properties_t device_properties = {};
    device_properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ze::check(fn.zeDeviceGetProperties(device, &device_properties), "zeDeviceGetProperties");
    ze_driver_properties_t driver_properties = {};
    driver_properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
    ze::check(fn.zeDriverGetProperties(driver, &driver_properties), "zeDriverGetProperties");
    engine_blob::identity id;
    std::memcpy(id.device_uuid, device_properties.uuid.id, sizeof id.device_uuid);
    std::memcpy(id.driver_uuid, driver_properties.uuid.id, sizeof id.driver_uuid);
    id.driver_version = driver_properties.driverVersion;
    return id;
}

std::span<const uint8_t> bytes_of(const auto &object) {
    return {reinterpret_cast<const uint8_t *>(&object), sizeof object};
}

void require_handles(const zemm_engine_t *engine, ze_driver_handle_t driver, ze_device_handle_t device,
                     ze_context_handle_t context) {
    REQUIRE(engine, driver, device, context);
}

} // namespace

zemm_status_t zemm_ze_interop_engine_create(zemm_engine_t *engine, ze_driver_handle_t driver,
                                            ze_device_handle_t device, ze_context_handle_t context) {
    return guard([&] {
        require_handles(engine, driver, device, context);
        *engine = zemm_engine::create(ze::adopt_device(driver, device, context));
    });
}

zemm_status_t zemm_ze_interop_engine_get_context(zemm_engine_t engine, ze_context_handle_t *context) {
    return guard([&] {
        REQUIRE(engine, context);
        *context = engine->device->context;
    });
}

zemm_status_t zemm_ze_interop_engine_get_device(zemm_engine_t engine, ze_device_handle_t *device) {
    return guard([&] {
        REQUIRE(engine, device);
        *device = engine->device->handle;
    });
}

zemm_status_t zemm_ze_interop_engine_get_driver(zemm_engine_t engine, ze_driver_handle_t *driver) {
    return guard([&] {
        REQUIRE(engine, driver);
        *driver = engine->device->driver;
    });
}

zemm_status_t zemm_ze_interop_engine_get_cache_blob_id(ze_driver_handle_t driver, ze_device_handle_t device,
                                                       size_t *size, uint8_t *cache_blob_id) {
    return guard([&] {
        REQUIRE(driver, device, size);
        const engine_blob::identity id = identity_of(driver, device);
        give_bytes(bytes_of(id), size, cache_blob_id, "cache_blob_id");
    });
}

zemm_status_t zemm_ze_interop_engine_get_cache_blob(zemm_engine_t engine, size_t *size, uint8_t *cache_blob) {
    return guard([&] {
        REQUIRE(engine, size);
        engine_blob blob;
        blob.made_for = identity_of(engine->device->driver, engine->device->handle);
        give_bytes(bytes_of(blob), size, cache_blob, "cache_blob");
    });
}

zemm_status_t zemm_ze_interop_engine_create_from_cache_blob(zemm_engine_t *engine, ze_driver_handle_t driver,
                                                            ze_device_handle_t device,
                                                            ze_context_handle_t context, size_t size,
                                                            const uint8_t *cache_blob) {
    return guard([&] {
        require_handles(engine, driver, device, context);
        require(cache_blob, "cache_blob");
        engine_blob blob, expected;
        if (size != sizeof blob)
            fail(zemm_invalid_arguments, "size is %zu, but an engine's cache blob has %zu bytes", size,
                 sizeof blob);
        std::memcpy(&blob, cache_blob, sizeof blob);
        if (std::memcmp(blob.magic, expected.magic, sizeof blob.magic))
            fail(zemm_invalid_arguments, "cache_blob is no engine cache blob of zemm");
        expected.made_for = identity_of(driver, device);
        if (std::memcmp(&blob, &expected, sizeof blob))
            fail(zemm_invalid_arguments,
                 "cache_blob was made for another device or driver (driver version %u there, %u here)",
                 blob.made_for.driver_version, expected.made_for.driver_version);
        *engine = zemm_engine::create(ze::adopt_device(driver, device, context));
    });
}

zemm_status_t zemm_ze_interop_stream_create(zemm_stream_t *stream, zemm_engine_t engine,
                                            ze_command_list_handle_t list, int profiling) {
    return guard([&] {
        REQUIRE(stream, engine, list);
        if (profiling != 0 && profiling != 1)
            fail(zemm_invalid_arguments, "profiling is %d: neither 0 nor 1", profiling);
        *stream = new zemm_stream{engine->shared_from_this(), ze::stream(engine->device, list, profiling)};
    });
}

zemm_status_t zemm_ze_interop_stream_get_list(zemm_stream_t stream, ze_command_list_handle_t *list) {
    return guard([&] {
        REQUIRE(stream, list);
        *list = stream->stream.list();
    });
}

zemm_status_t zemm_ze_interop_memory_create(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                            zemm_engine_t engine, int nhandles, void **handles) {
    const zemm_status_t status = guard([&] { require(md, "md"); });
    return status == zemm_success ? zemm_memory_create_v2(memory, md, engine, nhandles, handles) : status;
}
