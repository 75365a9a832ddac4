// SPDX-License-Identifier: Apache-2.0
//
// The tables of tools (zet) and system management (zes). This driver implements none of these
// functions and leaves the tables empty, which a loader answers with "unsupported feature". The
// getters exist because older loaders require all of them.
#include "ddi.h"

#define ZE_CPU_EMPTY_TABLE(getter)                                                                           \
    extern "C" ZE_DLLEXPORT ze_result_t getter(ze_api_version_t version, void *table);                       \
    extern "C" ze_result_t getter(ze_api_version_t version, void *table) {                                   \
        return ze_cpu::fill_table(version, table, nullptr, 0);                                               \
    }

ZE_CPU_EMPTY_TABLE(zetGetMetricProgrammableExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricTracerExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricDecoderExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetDeviceProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetDeviceExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetContextProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetCommandListProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetCommandListExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetModuleProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetKernelProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricGroupProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricGroupExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricStreamerProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricQueryProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetTracerExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetDebugProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetDeviceProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetDeviceExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetDriverProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetDriverExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetOverclockProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetSchedulerProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetPerformanceFactorProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetPowerProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFrequencyProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetEngineProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetStandbyProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFirmwareProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFirmwareExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetMemoryProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFabricPortProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetTemperatureProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetPsuProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFanProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetLedProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetRasProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetRasExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetDiagnosticsProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetVFManagementExpProcAddrTable)
