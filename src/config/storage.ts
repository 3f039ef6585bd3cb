import { z } from 'zod'
import { parsePostgresUrl } from '../lib/net/postgres-url.ts'
import { optional, type Setting, secret, setting } from './setting.ts'
import { count, flag, positive, text, timerDuration } from './values.ts'

/** The text may contain a password: no message repeats it. */
const storage = z.string().transform((text, context) => {
  if (text === 'memory:') return { kind: 'memory' as const }
  if (/^sqlite:(?!:memory:$)./.test(text))
    return { kind: 'sqlite' as const, path: text.slice('sqlite:'.length) }
  const address = /^postgres(?:ql)?:/.test(text)
    ? parsePostgresUrl(text)
    : 'must be memory:, sqlite:PATH or postgres://USER@HOST/DATABASE'
  if (typeof address !== 'string') return { kind: 'postgres' as const, ...address }
  context.addIssue(address)
  return z.NEVER
})

export const storageSettings = {
  storage: setting(
    storage,
    'STORAGE',
    'sqlite:data/gatehouse.db',
    'sqlite:PATH; postgres://USER@HOST[:PORT][,HOST…]/DATABASE[?sslmode=MODE]; or memory: to lose all data when the process ends',
  ),
  storagePassword: secret(
    text,
    'STORAGE_PASSWORD',
    'password of the PostgreSQL user; prefer a file named by GATEHOUSE_STORAGE_PASSWORD_FILE',
  ),
  storagePasswordFile: optional(
    text,
    'STORAGE_PASSWORD_FILE',
    'file with that password, read again for each new connection',
  ),
  storageCaFile: optional(
    text,
    'STORAGE_CA_FILE',
    'PEM file of the authorities that sign the certificate of PostgreSQL (default: those of the system)',
  ),
  allowNetworkDisk: setting(
    flag,
    'ALLOW_NETWORK_DISK',
    'false',
    'true: accept a database file on NFS, SMB, FUSE or 9p',
  ),
  postgresPool: setting(
    count.refine((size) => size >= 2, 'must be at least 2'),
    'POSTGRES_POOL',
    '10',
    'maximum number of connections to PostgreSQL',
  ),
  postgresStatementTimeoutMs: setting(
    positive(timerDuration),
    'POSTGRES_STATEMENT_TIMEOUT',
    '5s',
    'time limit for a statement of PostgreSQL',
  ),
  postgresNotify: setting(
    flag,
    'POSTGRES_NOTIFY',
    'true',
    'false: do not use LISTEN and NOTIFY, which a transaction pooler does not support',
  ),
  postgresPollMs: setting(
    positive(timerDuration).refine((ms) => ms <= 900, 'must be at most 900ms'),
    'POSTGRES_POLL',
    '250ms',
    'how often a server asks PostgreSQL what others have written, at most 900ms',
  ),
  postgresPrepare: setting(
    flag,
    'POSTGRES_PREPARE',
    'true',
    'false: prepare no statements, and set time limits in each transaction, as a transaction pooler requires',
  ),
  background: setting(
    z.enum(['on', 'off']),
    'BACKGROUND',
    'on',
    'off: disable background jobs (expiry, rotation, clean-up), e.g. to inspect a backup',
  ),
} satisfies Record<string, Setting>
