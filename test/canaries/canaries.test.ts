import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { runProcess, startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { filesOf, prepare, Scene, sendSecrets } from './scene.ts'
import { canariesIn, type Place, placeOf, sightings } from './search.ts'
import { CanaryBook, operationsOf, walk } from './walk.ts'

type Exception = { readonly place: RegExp; readonly what: RegExp; readonly because: string }

/** What may be found nevertheless, and why. */
const exceptions: readonly Exception[] = [
  { place: /audit\.log$/, what: / \(as a key\)$/, because: 'keys of objects are not hashed' },
  {
    place: /audit\.log$/,
    what: /(?:_ttl| ttl|_period|_age)$/,
    because: 'the text about a wrong duration repeats it, and errors are not hashed',
  },
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

const isExpected = (what: string, name: string): boolean =>
  exceptions.some((exception) => exception.place.test(name) && exception.what.test(what))

/** They would end the walk: sealing, and a lock on everything. */
const notWalked = ['post /sys/seal', 'post /sys/namespaces/api-lock/lock']

test('nothing that is sent to any endpoint, and no secret, is in a log, a metric, a file or an error', {
  timeout: 120_000,
}, async () => {
  await using folder = await temporaryFolder()
  await using directory = await startDirectory()
  await using server = await startProcess({
    folder: folder.path,
    settings: {
      LOG_LEVEL: 'trace',
      ACCESS_LOG: 'true',
      METRICS: 'open',
      AUDIT: JSON.stringify([{ path: 'file', type: 'file', options: { file_path: 'data/audit/audit.log' } }]),
      ROOT_TOKEN_FILE: 'root-token',
      DEFAULT_MOUNTS: 'auth/jwt=jwt,auth/oidc=oidc,cloud=cloud,azure=azure',
    },
    environment: {
      CLOUD_AUTHORITY_HOST: directory.authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
      CLOUD_CA_FILE: directory.caFile,
    },
  })
  const rootToken = (await readFile(folder.file('root-token'), 'utf8')).trim()
  const scene = new Scene(server, rootToken)
  scene.secret('seal key', (await readFile(folder.file('data/seal.key'), 'utf8')).trim())

  // valid calls, which store, return and end real secrets
  await prepare(scene, directory)
  await scene.playDocumentedCalls()
  await sendSecrets(scene)

  // everything a caller can do wrong, at every endpoint
  const operations = operationsOf((await scene.root.read('sys/internal/specs/openapi')).body)
  const book = new CanaryBook()
  const echoed: string[] = []
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
  for (const operation of operations.filter(({ name }) => !notWalked.includes(name)))
    for (const answer of await walk(operation, callers, book)) {
      expect(answer.status, answer.text).toBeLessThan(500)
      for (const number of canariesIn(placeOf('response', answer.text)))
        if (book.at(number).isSecret && !isExpected(book.at(number).what, 'response'))
          echoed.push(`${book.at(number).what} in a response to ${operation.name}`)
    }

  const backup = await runProcess('src/commands/backup.ts', { folder: folder.path, args: ['data/backup'] })
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
    ...(await filesOf(folder.file('data'), 'stopped ')),
  )
  const written = places.flatMap((place) =>
    canariesIn(place)
      .map((number) => book.at(number).what)
      .filter((what) => !isExpected(what, place.name))
      .map((what) => `${what} in ${place.name}`),
  )
  expect(echoed).toEqual([])
  expect(written).toEqual([])
  expect(sightings(scene.secrets, [...places, placeOf('errors', scene.errors)])).toEqual([])
  // it did look at what it was meant to
  expect(book.size).toBeGreaterThan(5000)
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
