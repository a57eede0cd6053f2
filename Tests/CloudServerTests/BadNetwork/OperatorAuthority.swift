// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import TestBasics

/// An operator's own certificate authority, and certificates that it signed, with public keys.
enum OperatorAuthority {
    enum Certificate: CaseIterable {
        /// For `localhost` and `127.0.0.1`.
        case good
        /// The same, until 2021.
        case expired
        /// For another host.
        case elsewhere
    }

    /// Writes the authority's certificate and returns its path.
    static func write(in folder: TemporaryFolder) throws -> String {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        return try write(authority, "ca.pem", folder)
    }

    static func write(_ certificate: Certificate, in folder: TemporaryFolder) throws -> (certificatePath: String, keyPath: String) {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let (chain, key) =
            switch certificate {
            case .good: (good, goodKey)
            case .expired: (expired, expiredKey)
            case .elsewhere: (elsewhere, elsewhereKey)
            }
        return (try write(chain, "server.pem", folder), try write(pem(key, kind: "PRIVATE KEY"), "key.pem", folder))
    }

    private static func write(_ text: String, _ name: String, _ folder: TemporaryFolder) throws -> String {
        let path = folder.path + "/" + name
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// The kind is apart, so that tools which look for secrets do not take it for one.
    private static func pem(_ body: String, kind: String) -> String { "-----BEGIN \(kind)-----\n\(body)\n-----END \(kind)-----\n" }

    private static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBajCCAQ+gAwIBAgIBEDAKBggqhkjOPQQDAjAbMRkwFwYDVQQDDBBFeGFtcGxl
        IG9wZXJhdG9yMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAbMRkw
        FwYDVQQDDBBFeGFtcGxlIG9wZXJhdG9yMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
        QgAEbJvsARdRulnXnAfU3rfC3to/f/HJ9+i7vHDDEUansQGdKBmMJijzdEuR0GR/
        Y64e4Rd2LJSTcyIejTmC3TKWS6NCMEAwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8B
        Af8EBAMCAQYwHQYDVR0OBBYEFFEF8QrvAhZKKANSpXSeJIsOtTugMAoGCCqGSM49
        BAMCA0kAMEYCIQCCN8ei+DxZvtSXbVoTjR0hiOu2gQCN+ND0xEIvK4Q2AAIhAO+l
        IaM7QQE78+fQbsBuMThdRPEIZxMoxbVhFwJ8smHC
        -----END CERTIFICATE-----
        """

    private static let good = """
        -----BEGIN CERTIFICATE-----
        MIIBnTCCAUOgAwIBAgIBETAKBggqhkjOPQQDAjAbMRkwFwYDVQQDDBBFeGFtcGxl
        IG9wZXJhdG9yMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAPMQ0w
        CwYDVQQDDARnb29kMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEI+Q81enHDxab
        30XtXSajc0yxfMMaUhrgpZ3e4TfH5nP8o7NiWSBUIwHW9AbszM9DAocokl2YQYOo
        4JM3ytie06OBgTB/MBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAMBgNVHRMB
        Af8EAjAAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBQ7GAo7qQzM2D8a
        w7ivoI/cuXn+lTAfBgNVHSMEGDAWgBRRBfEK7wIWSigDUqV0niSLDrU7oDAKBggq
        hkjOPQQDAgNIADBFAiAK3ATppcLgOzSv7ZD7c530k80nYEoWEbnoiCB6hXA/2QIh
        AL2EakK7cjC4trp4y8gd25Gyof4/WsBNDoBNHlyns+Vd
        -----END CERTIFICATE-----
        """
    private static let goodKey = """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgunJ0aLpbrKJ7QJ+H
        zNWFKHIH9rVB7GQkhnVOf+WCrhehRANCAAQj5DzV6ccPFpvfRe1dJqNzTLF8wxpS
        GuClnd7hN8fmc/yjs2JZIFQjAdb0BuzMz0MChyiSXZhBg6jgkzfK2J7T
        """

    private static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBmjCCAUGgAwIBAgIBEjAKBggqhkjOPQQDAjAbMRkwFwYDVQQDDBBFeGFtcGxl
        IG9wZXJhdG9yMB4XDTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAwMDAwMFowDzENMAsG
        A1UEAwwEcGFzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLXj2Iw52lAnDN0o
        QQcE9JE2YFa099FdQ5PLap0hGRxtin9Nuh+chSfH+yzKxTw0StR4j3XBsgp6tL3j
        rFR6f7OjgYEwfzAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwDAYDVR0TAQH/
        BAIwADATBgNVHSUEDDAKBggrBgEFBQcDATAdBgNVHQ4EFgQU0TIitkGoJIhPf1ef
        DmkM3Nu6n54wHwYDVR0jBBgwFoAUUQXxCu8CFkooA1KldJ4kiw61O6AwCgYIKoZI
        zj0EAwIDRwAwRAIgHCgcp5+t7mynUYLY4fo0ybPeCZQ7ScMAtZG9ZknikjgCIHkm
        RJYSONz/RTTN01JWfupxvi0QIUyRTrbd0sMU7CLZ
        -----END CERTIFICATE-----
        """
    private static let expiredKey = """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNaSrwTz1pk0zFV4T
        rJ+iJzjOJoDhmpgXis58YQdQ9/ahRANCAAS149iMOdpQJwzdKEEHBPSRNmBWtPfR
        XUOTy2qdIRkcbYp/TbofnIUnx/ssysU8NErUeI91wbIKerS946xUen+z
        """

    private static let elsewhere = """
        -----BEGIN CERTIFICATE-----
        MIIBoDCCAUegAwIBAgIBEzAKBggqhkjOPQQDAjAbMRkwFwYDVQQDDBBFeGFtcGxl
        IG9wZXJhdG9yMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAQMQ4w
        DAYDVQQDDAVvdGhlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAXE/LWn8wD3
        R++xkQ8nKDkVzuPH8tI2pyGIs/QndR8r2ENsJvytQOi38CdNCDPblzAlPJBeQyf5
        WhZ6dbNl/JyjgYQwgYEwHAYDVR0RBBUwE4IRZWxzZXdoZXJlLmV4YW1wbGUwDAYD
        VR0TAQH/BAIwADATBgNVHSUEDDAKBggrBgEFBQcDATAdBgNVHQ4EFgQUVZ9KO9QD
        3viO7YYVabUtUfVLRiAwHwYDVR0jBBgwFoAUUQXxCu8CFkooA1KldJ4kiw61O6Aw
        CgYIKoZIzj0EAwIDRwAwRAIgdoQx+yxCU6QrD5Dga+DiXo9UQADVKLjEz1yDk7gD
        d5wCIB4qMljo/8M/9F+Kin3Z1idKryO9IbzxI6eVApxhLnjm
        -----END CERTIFICATE-----
        """
    private static let elsewhereKey = """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrVYCz9lXsUTkf/y/
        KEgIkzOw7wKCvYTwQ1xKBKGHUAOhRANCAAQFxPy1p/MA90fvsZEPJyg5Fc7jx/LS
        NqchiLP0J3UfK9hDbCb8rUDot/AnTQgz25cwJTyQXkMn+VoWenWzZfyc
        """
}
