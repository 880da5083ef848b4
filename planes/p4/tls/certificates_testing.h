// SPDX-License-Identifier: Apache-2.0
//
// For tests: certificates with their keys, made by openssl. They prove nothing to anybody, because
// everybody has the keys. They are valid until the year 2126.
#pragma once

namespace infold::p4 {

// Has signed the certificates of the server and of the client.
inline constexpr const char* kAuthority = R"(-----BEGIN CERTIFICATE-----
MIIBmDCCAT2gAwIBAgIUavCTCzP7Ppy+fiMBSKipoAoIDeswCgYIKoZIzj0EAwIw
IDEeMBwGA1UEAwwVaW5mb2xkIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyOTA1MjUz
OFoYDzIxMjYxMTA1MDUyNTM4WjAgMR4wHAYDVQQDDBVpbmZvbGQgdGVzdCBhdXRo
b3JpdHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATVdpjtL3ASnZQqybcM2wqI
9hEJrhaRInk0aNrEkGVs0bufFITaWrGNgR8n94GX27k9tsaUvouVAgAxyAdC7zeo
o1MwUTAdBgNVHQ4EFgQU+8F0AnMelJGcnImVm17htr0F/PUwHwYDVR0jBBgwFoAU
+8F0AnMelJGcnImVm17htr0F/PUwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQD
AgNJADBGAiEAh/iuTHu9/m0kWLFYHjwQn/7kiV3D3Fr/WaS1sMLXljICIQCwVEip
Iu3/a5A4may4i2DsU0e79izRj0FUYN/H2Lgtlg==
-----END CERTIFICATE-----
)";

// Has signed neither.
inline constexpr const char* kOtherAuthority = R"(-----BEGIN CERTIFICATE-----
MIIBkDCCATWgAwIBAgIURinq+9vKNztttX2cl3WzxAInHXwwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRYW5vdGhlciBhdXRob3JpdHkwIBcNMjYxMTI5MDUyNTM4WhgP
MjEyNjExMDUwNTI1MzhaMBwxGjAYBgNVBAMMEWFub3RoZXIgYXV0aG9yaXR5MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExZ6tQLL4e0g9NhqlzAZvGSb2vJXBynt7
G1qAzCDEWXdPRl5PH7kS/ILGdujtrs1wy/YNUwteY5g1aGmCHY3IjaNTMFEwHQYD
VR0OBBYEFKqa2rq5eWqgNE/UGak7+qx7kWhbMB8GA1UdIwQYMBaAFKqa2rq5eWqg
NE/UGak7+qx7kWhbMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIh
AKz92rylNBMchJEY+b4Sljql3AodzuedM/3PNNqfqiX1AiEAiYfooWWE5LqUTXc4
dT/0fm3T8drqxwdF3UVRvKrszqk=
-----END CERTIFICATE-----
)";

// For 127.0.0.1 and switch.test.
inline constexpr const char* kServerCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBoTCCAUegAwIBAgIUXy+eUsvL+eVktGOgKhWVfSeI/9UwCgYIKoZIzj0EAwIw
IDEeMBwGA1UEAwwVaW5mb2xkIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyOTA1MjUz
OFoYDzIxMjYxMTA1MDUyNTM4WjAdMRswGQYDVQQDDBJpbmZvbGQgdGVzdCBzZXJ2
ZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATDafGweiwqelCadiQl4/5q1zp1
nEvR9tW2wW52U2OFMjeWMc8hXET3dzcStxeEpFbe9uharA/68ojEPw6jtOgQo2Aw
XjAcBgNVHREEFTAThwR/AAABggtzd2l0Y2gudGVzdDAdBgNVHQ4EFgQUEmsuugJA
+cy8mH1EngXxMUnRvfMwHwYDVR0jBBgwFoAU+8F0AnMelJGcnImVm17htr0F/PUw
CgYIKoZIzj0EAwIDSAAwRQIhANgsGELas1ViD3SEfzh3ZzE/WPy03qZjEPf6bzSI
gebLAiB08T1gTKi8Q9GZbwuXbx66JoyuwZ9/2jV9kkpqkfVTAA==
-----END CERTIFICATE-----
)";

// The key of the server.
inline constexpr const char* kServerKey = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCfTHlNwmdWt3/U+N
q1lNg2gaco78gBEj8DbgDvI9uqKhRANCAATDafGweiwqelCadiQl4/5q1zp1nEvR
9tW2wW52U2OFMjeWMc8hXET3dzcStxeEpFbe9uharA/68ojEPw6jtOgQ
-----END PRIVATE KEY-----
)";

// For a controller.
inline constexpr const char* kClientCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBjzCCATSgAwIBAgIUXy+eUsvL+eVktGOgKhWVfSeI/9YwCgYIKoZIzj0EAwIw
IDEeMBwGA1UEAwwVaW5mb2xkIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyOTA1MjUz
OFoYDzIxMjYxMTA1MDUyNTM4WjAdMRswGQYDVQQDDBJpbmZvbGQgdGVzdCBjbGll
bnQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASlGdYYkYBIseAOskOCtLi485/h
RbqIkp0xdu5iK+Ou8Pyw5VBfB2KOmT3v0T9LmB2Htkp6uvrMokGylwLU42MKo00w
SzAJBgNVHRMEAjAAMB0GA1UdDgQWBBQUWKxIrnjY4a8uaNOuREJKgIjwwzAfBgNV
HSMEGDAWgBT7wXQCcx6UkZyciZWbXuG2vQX89TAKBggqhkjOPQQDAgNJADBGAiEA
pVBlKlwtTsT/7d4X4JX1pYKI98KhnSFEA89dt/+SdAcCIQDDNuVGPBYz+i3YtJkK
kCNWnCzJERzPewZWcrmRJGjZPQ==
-----END CERTIFICATE-----
)";

// The key of the controller.
inline constexpr const char* kClientKey = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgR4g7hVtelx6hqG1w
W/okG6b9x33VeZ5W3iT5ZUa9oHChRANCAASlGdYYkYBIseAOskOCtLi485/hRbqI
kp0xdu5iK+Ou8Pyw5VBfB2KOmT3v0T9LmB2Htkp6uvrMokGylwLU42MK
-----END PRIVATE KEY-----
)";

}  // namespace infold::p4
