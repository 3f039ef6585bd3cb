package main

import (
	"errors"
	"time"
)

func kvOperations(vault *Client) {
	sys, logical := vault.Sys(), vault.Logical()
	mount := func(path, version string) {
		must(sys.Mount(path, &MountInput{Type: "kv", Options: map[string]string{"version": version}}))
	}

	operation("write, read, list and delete a secret (kv, version 1)", func() {
		mount("kv1", "1")
		kv := vault.KVv1("kv1")
		must(kv.Put(background, "team/app", values{"password": "p"}))
		expect(got(kv.Get(background, "team/app")).Data, values{"password": "p"})
		expect(got(logical.List("kv1/team")).Data["keys"], []any{"app"})
		must(kv.Delete(background, "team/app"))
		_, err := kv.Get(background, "team/app")
		expect(errors.Is(err, ErrSecretNotFound), true)
	})
	operation("upgrade a mount from version 1 to 2 (kv)", func() {
		mount("upgraded", "1")
		must(vault.KVv1("upgraded").Put(background, "app", values{"password": "p"}))
		must(sys.TuneMount("upgraded", MountConfig{Options: map[string]string{"version": "2"}}))
		expect(got(sys.ListMounts())["upgraded/"].Options["version"], "2")
		expect(got(vault.KVv2("upgraded").Get(background, "app")).VersionMetadata.Version, 1)
	})

	kv := vault.KVv2("kv2")
	password := func() any { return got(kv.Get(background, "app")).Data["password"] }
	operation("configure a mount (kv, version 2)", func() {
		mount("kv2", "2")
		got(logical.Write("kv2/config", values{"max_versions": 5, "delete_version_after": "1h"}))
		expect(got(logical.Read("kv2/config")).Data["delete_version_after"], "1h0m0s")
		got(logical.Write("kv2/config", values{"max_versions": 10, "delete_version_after": "0s"}))
	})
	operation("write and read versions of a secret (kv, version 2)", func() {
		for _, value := range []string{"p1", "p2"} {
			got(kv.Put(background, "app", values{"password": value}))
		}
		expect(password(), "p2")
		first := got(kv.GetVersion(background, "app", 1))
		expect(first.Data, values{"password": "p1"})
		expect(first.VersionMetadata.Version, 1)
		_, err := kv.Get(background, "nobody")
		expect(errors.Is(err, ErrSecretNotFound), true)
	})
	operation("write a secret with check-and-set (kv, version 2)", func() {
		expect(got(kv.Put(background, "app", values{"password": "p3"}, WithCheckAndSet(2))).VersionMetadata.Version, 3)
		_, err := kv.Put(background, "app", values{"password": "no"}, WithCheckAndSet(2))
		expectStatus(err, 400)
		expect(password(), "p3")
	})
	operation("patch a secret (kv, version 2)", func() {
		got(kv.Patch(background, "app", values{"user": "ada"}))
		got(kv.Patch(background, "app", values{"tier": "1"}, WithMergeMethod("patch"), WithCheckAndSet(4)))
		got(kv.Patch(background, "app", values{"user": "bob"}, WithMergeMethod("rw")))
		expect(got(kv.Get(background, "app")).Data, values{"password": "p3", "user": "bob", "tier": "1"})
		_, err := kv.Patch(background, "nobody", values{"user": "ada"})
		expect(errors.Is(err, ErrSecretNotFound), true)
	})
	operation("roll a secret back (kv, version 2)", func() {
		expect(got(kv.Rollback(background, "app", 1)).VersionMetadata.Version, 7)
		expect(password(), "p1")
	})
	operation("delete, undelete and destroy versions of a secret (kv, version 2)", func() {
		must(kv.Delete(background, "app"))
		deleted := got(kv.Get(background, "app"))
		expect(deleted.Data, values(nil))
		expect(deleted.VersionMetadata.DeletionTime.IsZero(), false)
		must(kv.Undelete(background, "app", []int{7}))
		expect(password(), "p1")
		must(kv.DeleteVersions(background, "app", []int{1, 2}))
		must(kv.Destroy(background, "app", []int{1}))
		versions := got(kv.GetVersionsAsList(background, "app"))
		expect(versions[0].Destroyed, true)
		expect(versions[1].Destroyed, false)
		expect(versions[1].DeletionTime.IsZero(), false)
		_, err := kv.Rollback(background, "app", 1)
		expect(err != nil, true)
	})
	operation("write, patch and read the metadata of a secret (kv, version 2)", func() {
		must(kv.PutMetadata(background, "app", MetadataPut{
			MaxVersions: 9, DeleteVersionAfter: time.Hour, CustomMetadata: values{"owner": "a"},
		}))
		most := 3
		must(kv.PatchMetadata(background, "app", MetadataPatch{
			MaxVersions: &most, CustomMetadata: values{"tier": "1"},
		}))
		metadata := got(kv.GetMetadata(background, "app"))
		expect(metadata.MaxVersions, 3)
		expect(metadata.DeleteVersionAfter, time.Hour)
		expect(metadata.CustomMetadata, values{"owner": "a", "tier": "1"})
		expect(metadata.CurrentVersion, 7)
	})
	operation("list secrets and delete one with all its versions (kv, version 2)", func() {
		got(kv.Put(background, "team/app", values{"password": "p"}))
		expect(got(logical.List("kv2/metadata")).Data["keys"], []any{"app", "team/"})
		must(kv.DeleteMetadata(background, "app"))
		expect(got(logical.List("kv2/metadata/")).Data["keys"], []any{"team/"})
		expect(got(logical.List("kv2/metadata/none")), (*Secret)(nil))
	})
	operation("read a wrapped secret (kv, version 2)", func() {
		wrapper := withToken(vault.Token())
		wrapper.SetWrappingLookupFunc(func(string, string) string { return "60s" })
		wrapped := got(wrapper.Logical().Read("kv2/data/team/app"))
		opened := got(withToken("").Logical().Unwrap(wrapped.WrapInfo.Token))
		expect(opened.Data["data"], values{"password": "p"})
	})
	operation("write and read a secret in a namespace (kv, version 2)", func() {
		got(logical.Write("sys/namespaces/team-b", nil))
		inside := vault.WithNamespace("team-b")
		must(inside.Sys().Mount("kv2", &MountInput{Type: "kv-v2"}))
		got(inside.KVv2("kv2").Put(background, "app", values{"password": "inside"}))
		expect(got(vault.KVv2("team-b/kv2").Get(background, "app")).Data, values{"password": "inside"})
	})
	ownKvOperations(vault)
}
