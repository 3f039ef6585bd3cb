import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { expect, test } from 'vitest'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { Client, type Json } from '../support/client.ts'
import { type ProcessOptions, runCommand, type ServerProcess, startProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { logInFromPods } from './pods.ts'
import { carryLogins, filesOf, prepare, Scene, sendSecrets, signInEachWay } from './scene.ts'
import { canariesIn, type Place, placeOf, sightings } from './search.ts'
import { type Callers, CanaryBook, nodeLevel, type Operation, operationsOf, walk } from './walk.ts'

type Exception = { readonly place: RegExp; readonly what: RegExp; readonly because: string }

/** What may be found nevertheless, and why. */
const exceptions: readonly Exception[] = [
  { place: /audit\.log$/, what: / \(as a key\)$/, because: 'keys of objects are not hashed' },
  {
    place: /^response$/,
    what: /^post \/sys\/audit\/\{path\} options$/,
    because: 'the text about a text that is no pair repeats it to its caller',
  },
  {
    place: /audit\.log$/,
    what: /^post \/sys\/capabilities-self paths$/,
    because: 'the keys of the response are the paths',
  },
]

const met = new Set<Exception>()

function isExpected(what: string, name: string): boolean {
  const found = exceptions.find((exception) => exception.place.test(name) && exception.what.test(what))
  if (found !== undefined) met.add(found)
  return found !== undefined
}

/** The one 500 that a client depends on. docs/contract/approle.md#secret-ids */
const promisedFailure = /role \\"[\w.-]+\\" does not exist/

/** Walks through operations. Returns each canary that a response shows although it is a secret. */
async function echoes(
  operations: readonly Operation[],
  callers: Callers,
  book: CanaryBook,
  maxStatus: number,
) {
  const echoed: string[] = []
  for (const operation of operations)
    for (const answer of await walk(operation, callers, book)) {
      if (!promisedFailure.test(answer.text))
        expect(answer.status, answer.text).toBeLessThanOrEqual(maxStatus)
      for (const number of canariesIn(placeOf('response', answer.text)))
        if (book.at(number).isSecret && !isExpected(book.at(number).what, 'response'))
          echoed.push(`${book.at(number).what} in a response to ${operation.name}`)
    }
  return echoed
}

/** Each canary in these places, except for the expected ones. */
const written = (places: readonly Place[], book: CanaryBook): string[] =>
  places.flatMap((place) =>
    canariesIn(place)
      .map((number) => book.at(number).what)
      .filter((what) => !isExpected(what, place.name))
      .map((what) => `${what} in ${place.name}`),
  )

/** More than the longest form of a secret. */
const overlap = 8192

/** What these places have that is not in one of the earlier ones already, such as the new end of a file. */
const added = (places: readonly Place[], earlier: readonly Place[]): Place[] =>
  places.map(({ name, text }) => {
    const longest = Math.max(
      0,
      ...earlier.filter((one) => text.startsWith(one.text)).map((one) => one.text.length),
    )
    return { name, text: text.slice(Math.max(0, longest - overlap)) }
  })

const settings = {
  LOG_LEVEL: 'trace',
  ACCESS_LOG: 'true',
  METRICS: 'open',
  AUDIT: JSON.stringify([{ path: 'file', type: 'file', options: { file_path: 'data/audit/audit.log' } }]),
}

/** A server as a process, and clients that keep their connections: new ones take longer than most requests. */
async function startScene(options: ProcessOptions): Promise<ServerProcess> {
  const server = await startProcess(options)
  const anonymous = new Client(server.url, undefined, new Agent({ keepAlive: true }))
  return Object.assign(server, { anonymous, as: (token: string) => anonymous.with(token) })
}

/** They would end the walk: sealing, and a lock on everything. */
const notWalked = ['post /sys/seal', 'post /sys/namespaces/api-lock/lock']

test('nothing that is sent to any endpoint, and no secret, is in a log, a metric, a file or an error', {
  timeout: 120_000,
}, async () => {
  await using folder = await temporaryFolder()
  await using directory = await startDirectory()
  const account = randomBytes(16).toString('hex')
  await writeFile(folder.file('service-account'), `${account}\n`)
  await using server = await startScene({
    folder: folder.path,
    settings: {
      ...settings,
      ROOT_TOKEN_FILE: 'root-token',
      DEFAULT_MOUNTS:
        'auth/jwt=jwt,auth/oidc=oidc,auth/userpass=userpass,auth/kubernetes=kubernetes,cloud=cloud,azure=azure,secret=kv-v2,kv=kv',
    },
    environment: {
      CLOUD_AUTHORITY_HOST: directory.authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
      CLOUD_CA_FILE: directory.caFile,
      IDENTITY_ENDPOINT: directory.identityEndpoint,
      IDENTITY_HEADER: directory.identityHeader,
      AZURE_FEDERATED_TOKEN_FILE: folder.file('service-account'),
    },
  })
  const rootToken = (await readFile(folder.file('root-token'), 'utf8')).trim()
  const scene = new Scene(server, rootToken)
  scene.secret('seal key', (await readFile(folder.file('data/seal.key'), 'utf8')).trim())

  // valid calls, which store, return and end real secrets
  await prepare(scene, directory)
  scene.secret('token of a service account', account)
  scene.secret('identity header', directory.identityHeader)
  await signInEachWay(scene, directory)
  await scene.playDocumentedCalls()
  await sendSecrets(scene)
  await carryLogins(scene, server.anonymous)
  await logInFromPods(scene, server.anonymous)

  // everything a caller can do wrong, at every endpoint
  const operations = operationsOf((await scene.root.read('sys/internal/specs/openapi')).body)
  const book = new CanaryBook()
  let root = scene.root
  const callers = {
    anonymous: server.anonymous,
    as: server.as,
    // a step of the walk may revoke the token of its caller
    root: async () => {
      if ((await root.read('auth/token/lookup-self')).status !== 200)
        root = server.as(String((await scene.root.write('auth/token/create', {})).body.auth?.client_token))
      return root
    },
  }
  const walked = operations.filter(({ name }) => !notWalked.includes(name))
  const echoed = await echoes(walked, callers, book, 499)

  const backup = await runCommand('backup', { folder: folder.path, args: ['data/backup'] })
  expect(backup).toMatchObject({ code: 0 })
  const places: Place[] = [
    placeOf('output of the backup', backup.stdout + backup.stderr),
    placeOf('metrics', (await server.anonymous.read('/metrics')).text),
    ...(await filesOf(folder.file('data'))),
  ]
  await server.stop()
  places.push(
    placeOf('log', server.stderr),
    placeOf('standard output', server.stdout),
    ...added(await filesOf(folder.file('data'), 'stopped '), places),
  )
  expect(echoed).toEqual([])
  expect(written(places, book)).toEqual([])
  expect(sightings(scene.secrets, [...places, placeOf('errors', scene.errors)])).toEqual([])
  // assertions and access tokens, whoever made them
  expect(`${server.stderr}${scene.errors}`).not.toMatch(/eyJ[\w-]{8,}\.eyJ/)
  // it did look at what it was meant to
  expect(book.size).toBeGreaterThan(5000)
  expect(exceptions.filter((exception) => !met.has(exception))).toEqual([])
  expect(places.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'audit.log',
      'gatehouse.db',
      'gatehouse.db-wal',
      'backup',
      'stopped gatehouse.db',
    ]),
  )
})

const sharesIn = (body: Json): string[] => Object.values(body['keys_base64'] ?? {}).map(String)

test('no share, no key and no token of a ceremony is in a log, a metric, a file or an error', {
  timeout: 120_000,
}, async () => {
  await using example = await startTestServer()
  const operations = operationsOf((await example.root.read('sys/internal/specs/openapi')).body)
  await using folder = await temporaryFolder()
  await using server = await startScene({ folder: folder.path, settings: { ...settings, SEAL: 'shamir' } })
  const { anonymous, as } = server
  const book = new CanaryBook()
  const callers = { anonymous, as, root: async () => anonymous, areRefused: true }

  // before and after the initialization, while the server is sealed
  const echoed = await echoes(
    operations.filter(({ name }) => nodeLevel.test(name)),
    callers,
    book,
    503,
  )
  const made = await anonymous.write('sys/init', { secret_shares: 5, secret_threshold: 3 })
  const scene = new Scene(server, String(made.body['root_token']))
  scene.note('sys/init', made)
  echoed.push(...(await echoes(operations, callers, book, 503)))

  // what people with shares do
  const call = async (path: string, body: object) => scene.note(path, await scene.root.write(path, body)).body
  const offer = async (path: string, shares: readonly string[], nonce?: unknown) => {
    let answer: Json | undefined
    for (const key of shares) answer = await call(path, { key, nonce })
    return answer
  }
  await offer('sys/unseal', sharesIn(made.body).slice(1, 4))
  const rekey = await call('sys/rekey/init', { secret_shares: 3, secret_threshold: 2 })
  const rekeyed = await offer('sys/rekey/update', sharesIn(made.body).slice(0, 3), rekey['nonce'])
  const shares = sharesIn(rekeyed as Json)
  const attempt = await call('sys/generate-root/attempt', {})
  const root = await offer('sys/generate-root/update', shares.slice(1), attempt['nonce'])
  const { encoded_token, otp } = { encoded_token: root?.['encoded_token'], otp: attempt['otp'] }
  const decoded = await call('sys/decode-token', { encoded_token, otp })
  const again = as(String(decoded.data?.['token']))
  expect(await again.write('sys/seal')).toMatchObject({ status: 204 })
  expect(await offer('sys/unseal', shares.slice(0, 2))).toMatchObject({ sealed: false })
  expect(await again.read('auth/token/lookup-self')).toMatchObject({ status: 200 })

  const places: Place[] = [
    placeOf('metrics', (await anonymous.read('/metrics')).text),
    ...(await filesOf(folder.file('data'))),
  ]
  await server.stop()
  places.push(placeOf('log', server.stderr), placeOf('standard output', server.stdout))
  places.push(...added(await filesOf(folder.file('data'), 'stopped '), places))
  expect(echoed).toEqual([])
  expect(written(places, book)).toEqual([])
  expect(sightings(scene.secrets, [...places, placeOf('errors', scene.errors)])).toEqual([])
  expect(places.map(({ name }) => name)).toContain('audit.log')
  expect(shares).toHaveLength(3)
  expect(scene.secrets.size).toBeGreaterThan(16)
})
