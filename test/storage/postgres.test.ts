import { newDatabase, query } from '../support/postgres.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'
import { describeStorage, type StorageUnderTest } from './contract.ts'

/** Fails one transaction with the error of a full disk, when it is marked. */
const failOnce = `
  CREATE SEQUENCE IF NOT EXISTS failures;
  SELECT setval('failures', 1, false);
  CREATE OR REPLACE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('failures') = 1 THEN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END IF;
    RETURN NEW;
  END $$;
  CREATE OR REPLACE TRIGGER fail_once BEFORE UPDATE ON commits FOR EACH ROW EXECUTE FUNCTION fail_once();
`

/** One database for all tests of a run of the suite, empty for each: to create one takes long. */
function openTemporaryPostgres(prepares: boolean): () => Promise<StorageUnderTest> {
  let created: Promise<string> | undefined
  let count = 0
  return async () => {
    count += 1
    const replicaName = `storage-${count}`
    const opened = new AsyncDisposableStack()
    created ??= newDatabase()
    const url = await created
    const open = () => openPostgresAt(url, { prepares, notifies: prepares, replicaName })
    const storage = opened.use(await open())
    await query(url, 'TRUNCATE records; DROP TRIGGER IF EXISTS fail_once ON commits')
    return {
      storage,
      failNextCommit: async () => void (await query(url, failOnce)),
      reopen: async () => {
        await storage[Symbol.asyncDispose]()
        return opened.use(await open())
      },
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    }
  }
}

describeStorage('postgres', openTemporaryPostgres(true))
describeStorage('postgres without notifications and prepared statements', openTemporaryPostgres(false))
