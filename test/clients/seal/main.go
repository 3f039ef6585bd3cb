// Initializes, unseals and rekeys a server with the clients of OpenBao and Vault, as their command lines do.
//
// usage: seal URL PGP_KEY AUDIT_FILE
//
// PGP_KEY is a public key in base64, as their command lines read it from a file. Prints what the caller must
// look at as JSON.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	vault "github.com/hashicorp/vault/api"
	bao "github.com/openbao/openbao/api/v2"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(isTrue bool, what string, seen any) {
	if !isTrue {
		panic(fmt.Sprintf("%s: %+v", what, seen))
	}
}

// decode is what `-decode` of their command lines does.
func decode(encoded, otp string) string {
	token, err := base64.RawStdEncoding.DecodeString(encoded)
	check(err)
	expect(len(token) == len(otp), "length of the token", len(token))
	for i := range token {
		token[i] ^= otp[i]
	}
	return string(token)
}

func unseal(client *bao.Client, keys []string) {
	for i, key := range keys {
		status, err := client.Sys().Unseal(key)
		check(err)
		isLast := i == len(keys)-1
		expect(status.Sealed != isLast, "sealed", status)
		expect(isLast || status.Progress == i+1, "progress", status)
	}
}

// enableAudit is `bao audit enable file file_path=…` and `bao audit list`.
func enableAudit(client *bao.Client, path string) {
	check(client.Sys().EnableAuditWithOptions("file", &bao.EnableAuditOptions{
		Type: "file", Options: map[string]string{"file_path": path},
	}))
	devices, err := client.Sys().ListAudit()
	check(err)
	device := devices["file/"]
	expect(device != nil && device.Type == "file" && device.Options["file_path"] == path, "devices", devices)
}

// initialize is `bao operator init`: it looks at the seal first, and sends all fields.
func initialize(client *bao.Client) []string {
	status, err := client.Sys().SealStatus()
	check(err)
	expect(status.Type == "shamir" && !status.Initialized && !status.RecoverySeal, "seal status", status)
	isInitialized, err := client.Sys().InitStatus()
	check(err)
	expect(!isInitialized, "initialized", isInitialized)
	made, err := client.Sys().Init(&bao.InitRequest{SecretShares: 5, SecretThreshold: 3})
	check(err)
	expect(len(made.Keys) == 5 && len(made.KeysB64) == 5, "keys", made.Keys)
	client.SetToken(made.RootToken)
	return made.KeysB64
}

// rotateKeys is `bao operator rotate-keys`, with verification.
func rotateKeys(client *bao.Client, keys []string) []string {
	begun, err := client.Sys().RotateRootInit(&bao.RotateInitRequest{
		SecretShares: 5, SecretThreshold: 3, RequireVerification: true,
	})
	check(err)
	expect(begun.Started && begun.Required == 3, "status", begun)
	var result *bao.RotateUpdateResponse
	for _, key := range keys[:3] {
		result, err = client.Sys().RotateRootUpdate(key, begun.Nonce)
		check(err)
	}
	expect(result.Complete && result.VerificationRequired && len(result.Keys) == 5, "result", result)
	var verified *bao.RotateVerificationUpdateResponse
	for _, key := range result.KeysB64[2:] {
		verified, err = client.Sys().RotateRootVerificationUpdate(key, result.VerificationNonce)
		check(err)
	}
	expect(verified.Complete, "verification", verified)
	return result.KeysB64
}

// rekey is `vault operator rekey`.
func rekey(client *vault.Client, keys []string) []string {
	status, err := client.Sys().RekeyStatus()
	check(err)
	expect(!status.Started && status.Required == 3, "status", status)
	begun, err := client.Sys().RekeyInit(&vault.RekeyInitRequest{SecretShares: 3, SecretThreshold: 2})
	check(err)
	expect(begun.Started && begun.T == 2 && begun.N == 3, "status", begun)
	var result *vault.RekeyUpdateResponse
	for _, key := range keys[:3] {
		result, err = client.Sys().RekeyUpdate(key, begun.Nonce)
		check(err)
	}
	expect(result.Complete && len(result.Keys) == 3, "result", result)
	return result.Keys
}

// rekeyWithPgp is `vault operator rekey -pgp-keys -backup`, and its cancellation.
func rekeyWithPgp(client *vault.Client, pgpKey string) string {
	begun, err := client.Sys().RekeyInit(&vault.RekeyInitRequest{
		SecretShares: 1, SecretThreshold: 1, PGPKeys: []string{pgpKey}, Backup: true,
	})
	check(err)
	expect(begun.Started && begun.Backup && len(begun.PGPFingerprints) == 1, "status", begun)
	check(client.Sys().RekeyCancel())
	status, err := client.Sys().RekeyStatus()
	check(err)
	expect(!status.Started, "status", status)
	return begun.PGPFingerprints[0]
}

// rootByOtp is `bao operator generate-root`: the server makes the one-time password.
func rootByOtp(client *bao.Client, keys []string) string {
	begun, err := client.Sys().GenerateRootInit("", "")
	check(err)
	expect(begun.Started && len(begun.OTP) == begun.OTPLength, "status", begun)
	status := begun
	for _, key := range keys {
		status, err = client.Sys().GenerateRootUpdate(key, begun.Nonce)
		check(err)
	}
	expect(status.Complete, "status", status)
	return decode(status.EncodedToken, begun.OTP)
}

// rootByChosenOtp is `vault operator generate-root -otp`.
func rootByChosenOtp(client *vault.Client, keys []string) string {
	status, err := client.Sys().GenerateRootStatus()
	check(err)
	otp := "0123456789abcdefghijABCDEFGH"
	expect(status.OTPLength == len(otp), "length of the password", status)
	begun, err := client.Sys().GenerateRootInit(otp, "")
	check(err)
	for _, key := range keys {
		status, err = client.Sys().GenerateRootUpdate(key, begun.Nonce)
		check(err)
	}
	expect(status.Complete && status.EncodedRootToken == status.EncodedToken, "status", status)
	return decode(status.EncodedToken, otp)
}

// rootByPgp is `bao operator generate-root -pgp-key`.
func rootByPgp(client *bao.Client, keys []string, pgpKey string) string {
	begun, err := client.Sys().GenerateRootInit("", pgpKey)
	check(err)
	expect(begun.PGPFingerprint != "" && begun.OTP == "", "status", begun)
	status := begun
	for _, key := range keys {
		status, err = client.Sys().GenerateRootUpdate(key, begun.Nonce)
		check(err)
	}
	expect(status.Complete, "status", status)
	return status.EncodedToken
}

func isRoot(client *bao.Client, token string) bool {
	other, err := client.Clone()
	check(err)
	other.SetToken(token)
	self, err := other.Auth().Token().LookupSelf()
	check(err)
	policies, err := self.TokenPolicies()
	check(err)
	return len(policies) == 1 && policies[0] == "root"
}

func main() {
	url, pgpKey, auditFile := os.Args[1], os.Args[2], os.Args[3]
	client, err := bao.NewClient(&bao.Config{Address: url})
	check(err)
	other, err := vault.NewClient(&vault.Config{Address: url})
	check(err)

	keys := initialize(client)
	other.SetToken(client.Token())
	unseal(client, keys[1:4])
	enableAudit(client, auditFile)
	hash, err := client.Sys().AuditHash("file", client.Token())
	check(err)
	keys = rotateKeys(client, keys)
	fingerprint := rekeyWithPgp(other, pgpKey)
	keys = rekey(other, keys)

	check(client.Sys().Seal())
	unseal(client, keys[:2])

	byOtp := rootByOtp(client, keys[1:])
	byChosenOtp := rootByChosenOtp(other, keys[:2])
	expect(isRoot(client, byOtp) && isRoot(client, byChosenOtp), "root tokens", nil)
	byPgp := rootByPgp(client, keys[:2], pgpKey)

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"fingerprint": fingerprint, "byPgp": byPgp, "tokenHash": hash, "keys": keys,
	}))
}
