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

const openTemporaryPostgres = (prepares: boolean) => async (): Promise<StorageUnderTest> => {
  const opened = new AsyncDisposableStack()
  const url = await newDatabase()
  const open = () => openPostgresAt(url, { prepares, notifies: prepares })
  const storage = opened.use(await open())
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

describeStorage('postgres', openTemporaryPostgres(true))
describeStorage('postgres without notifications and prepared statements', openTemporaryPostgres(false))
