import { createCipheriv, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import Fastify from 'fastify'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { Client } from 'pg'
import { arrayParameter } from '../src/storage/postgres/array-parameter.ts'

/**
 * The lowest possible cost of a durable login on this stack, as a baseline: Fastify, one jose verification,
 * two sealed rows (AES-256-GCM) committed durably in groups, a JSON response. Also a durable write alone: one
 * sealed row. No roles, policies, limits or errors. `node bench/floor.ts --file F --jwks URL` prints its
 * port. `--postgres URL` commits groups to PostgreSQL instead, one statement each, and writes the rows that
 * Gatehouse writes: the same number, of the same size, in a table of the same shape, and with each group the id
 * of its commit. The first login of a subject writes the three rows of its entity too. It reads nothing.
 */
const { values } = parseArgs({
  options: {
    file: { type: 'string' },
    postgres: { type: 'string' },
    jwks: { type: 'string' },
    issuer: { type: 'string' },
  },
})

/** Writes rows in one durable transaction. */
const write = values.postgres === undefined ? toFile(values.file) : await toPostgres(values.postgres)

function toFile(file = ':memory:'): (rows: Row[]) => void {
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.exec('CREATE TABLE records (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID')
  const insert = database.prepare('INSERT OR REPLACE INTO records (key, value) VALUES (?, ?)')
  return database.transaction((rows: Row[]) => {
    for (const row of rows) insert.run(row.key, row.value)
  })
}

async function toPostgres(url: string): Promise<(rows: Row[]) => Promise<unknown>> {
  const client = new Client({ connectionString: url, pipeline: true })
  await client.connect()
  await client.query(`
    CREATE SEQUENCE revisions CACHE 1000;
    CREATE TABLE records (
      key text COLLATE "C" PRIMARY KEY,
      value bytea NOT NULL,
      revision bigint NOT NULL DEFAULT nextval('revisions')
    );
    CREATE TABLE commits (slot text PRIMARY KEY, commit_id text NOT NULL);
    INSERT INTO commits VALUES ('floor', '')`)
  const text =
    "WITH c AS (UPDATE commits SET commit_id = $1 WHERE slot = 'floor' RETURNING slot) " +
    'INSERT INTO records (key, value) SELECT n.key, n.value FROM c, unnest($2::text[], $3::bytea[]) AS n (key, value)'
  return (rows) => {
    const keys = rows.map(({ key }) => key)
    const sealed = rows.map(({ value }) => value)
    return client.query({
      name: 'insert',
      text,
      values: [randomUUID(), arrayParameter('text', keys), arrayParameter('bytea', sealed)],
    })
  }
}

type Login = { readonly accessor: string; readonly subject: string; readonly meta: { readonly role: string } }

const policies = ['bench', 'default']

function twoRows(hash: string, { accessor, subject, meta }: Login): Row[] {
  const now = Date.now()
  const token = {
    accessor,
    display_name: `jwt-${subject}`,
    policies,
    meta,
    ttl: 900,
    created: now,
    expires: now + 900_000,
  }
  return [seal(`token/${hash}`, token), seal(`accessor/${accessor}`, { hash })]
}

/** The entity of each subject that has logged in. */
const entities = new Map<string, string>()

/** What Gatehouse stores. */
function sameRows(hash: string, { accessor, subject, meta }: Login): Row[] {
  const rows: Row[] = []
  let entity = entities.get(subject)
  if (entity === undefined) {
    entity = randomUUID()
    entities.set(subject, entity)
    rows.push(...entityRows(entity, subject, meta))
  }
  const now = Date.now()
  const expires = now + 900_000
  const token = {
    accessor,
    parent: '',
    namespace: 'root',
    policies,
    path: 'auth/jwt/login',
    meta,
    display_name: `jwt-${subject}`,
    num_uses: 0,
    ttl: 900,
    explicit_max_ttl: 0,
    period: 0,
    entity_id: entity,
    bound_cidrs: [],
    type: 'service',
    renewable: true,
    mount_accessor: mountAccessor,
    internal: meta,
    cubbyhole_id: randomBytes(18).toString('base64url'),
    granted_uses: 0,
    granted_ttl: 900,
    creation_time: now,
    issue_time: now,
    expire_time: expires,
  }
  rows.push(seal(`core/token/${hash}`, token))
  rows.push(seal(`core/expire/${String(expires).padStart(16, '0')}/${hash}`, true))
  return rows
}

const mountAccessor = 'auth_jwt_00000000'

function entityRows(id: string, subject: string, metadata: Login['meta']): Row[] {
  const hashOf = (name: string) => createHmac('sha256', hashKey).update(name).digest('hex')
  const name = `entity_${randomBytes(4).toString('hex')}`
  const times = { creation_time: new Date().toISOString(), last_update_time: new Date().toISOString() }
  const alias = {
    id: randomUUID(),
    canonical_id: id,
    mount_accessor: mountAccessor,
    name: subject,
    metadata,
    custom_metadata: null,
    merged_from_canonical_ids: null,
    local: false,
    ...times,
  }
  const entity = {
    id,
    name,
    namespace_id: 'root',
    metadata: null,
    policies: [],
    disabled: false,
    merged_entity_ids: null,
    aliases: [alias],
    ...times,
    made_by_login: true,
  }
  return [
    seal(`core/entity/root/${id}`, entity),
    seal(`core/entity-name/root/${hashOf(name)}`, id),
    seal(`core/entity-alias/root/${mountAccessor}/${hashOf(subject)}`, id),
  ]
}

type Row = { key: string; value: Buffer }
type Waiter = { resolve: () => void; reject: (reason: unknown) => void }

const sealKey = randomBytes(32)
const hashKey = randomBytes(32)

function seal(key: string, record: unknown): Row {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(key))
  return {
    key,
    value: Buffer.concat([nonce, cipher.update(JSON.stringify(record)), cipher.final(), cipher.getAuthTag()]),
  }
}

let rows: Row[] = []
let waiters: Waiter[] = []
let isWriting = false

/** Resolves once the rows are durable. All rows of one turn of the event loop, or of a commit, share the next. */
function commit(...added: Row[]): Promise<void> {
  if (waiters.length === 0 && !isWriting) setImmediate(flush)
  rows.push(...added)
  return new Promise((resolve, reject) => waiters.push({ resolve, reject }))
}

async function flush(): Promise<void> {
  const [group, waiting] = [rows, waiters]
  rows = []
  waiters = []
  isWriting = true
  try {
    await write(group)
    for (const { resolve } of waiting) resolve()
  } catch (error) {
    for (const { reject } of waiting) reject(error)
  }
  isWriting = false
  if (waiters.length > 0) setImmediate(flush)
}

const answer = await fetch(values.jwks ?? '')
// the bench's own issuer
const keys = createLocalJWKSet((await answer.json()) as Parameters<typeof createLocalJWKSet>[0])
const app = Fastify()

app.post<{ Body: { jwt: string; role: string } }>('/v1/auth/jwt/login', async (request) => {
  const { payload } = await jwtVerify(request.body.jwt, keys, {
    issuer: values.issuer ?? '',
    audience: 'gatehouse',
  })
  const id = `hvs.${randomBytes(24).toString('base64url')}`
  const accessor = randomBytes(18).toString('base64url')
  const login = { accessor, subject: payload.sub ?? '', meta: { role: request.body.role } }
  const hash = createHmac('sha256', hashKey).update(id).digest('hex')
  const rows = values.postgres === undefined ? twoRows(hash, login) : sameRows(hash, login)
  await commit(...rows)
  return {
    request_id: randomBytes(16).toString('hex'),
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data: null,
    warnings: null,
    auth: {
      client_token: id,
      accessor,
      policies,
      metadata: login.meta,
      lease_duration: 900,
      renewable: true,
      token_type: 'service',
    },
  }
})

type Sent = {
  title: string
  message: string
  start_time: string
  end_time: string
  link: Record<string, string>
}

/** The lowest possible cost of a durable create: one sealed row. */
app.post<{ Body: Sent }>('/v1/sys/config/ui/custom-messages', async (request) => {
  const id = randomUUID()
  const [[title, href] = []] = Object.entries(request.body.link)
  const message = {
    ...request.body,
    type: 'banner',
    authenticated: true,
    link: { title, href },
    options: null,
  }
  await commit(seal(`message/${id}`, message))
  return {
    request_id: randomBytes(16).toString('hex'),
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data: { id, ...message, active: true },
    warnings: null,
    auth: null,
  }
})

const url = await app.listen({ port: 0, host: '127.0.0.1' })
process.stdout.write(`${new URL(url).port}\n`)
