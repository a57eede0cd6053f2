// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension DatabaseFormat {
    /// Hashes of older formats had blocks of 8 and one lane.
    static let signInTables = """
        ALTER TABLE accounts ADD COLUMN block_size INTEGER NOT NULL DEFAULT 8;
        ALTER TABLE accounts ADD COLUMN parallelism INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE api_tokens ADD COLUMN expires INTEGER;
        ALTER TABLE server_keys ADD COLUMN expires INTEGER;
        CREATE TABLE second_factors (
            account INTEGER NOT NULL PRIMARY KEY REFERENCES accounts, secret BLOB NOT NULL, began INTEGER NOT NULL,
            confirmed INTEGER, last_step INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE recovery_codes (
            account INTEGER NOT NULL REFERENCES accounts, code_hash BLOB NOT NULL,
            PRIMARY KEY (account, code_hash)) WITHOUT ROWID;
        CREATE TABLE identities (
            issuer TEXT NOT NULL, subject TEXT NOT NULL, account INTEGER NOT NULL REFERENCES accounts,
            created INTEGER NOT NULL, PRIMARY KEY (issuer, subject)) WITHOUT ROWID;
        CREATE INDEX identities_account ON identities (account);
        """
}
