import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CloudFixture, startCloudFixture } from './cloud-fixture.ts'

let fixture: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

const odd = fc.oneof(
  fc.constantFrom(
    null,
    true,
    '',
    ' ',
    '1h',
    '-1',
    -1,
    1.5,
    1e300,
    [],
    {},
    [null],
    '\u0000',
    '../..',
    "a'b",
    'a&b=c',
    '%2e%2e',
    '🙂',
    'x'.repeat(5000),
  ),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.json({ maxDepth: 3 }),
  fc.jsonValue({ maxDepth: 2 }),
)
const element = fc.record(
  {
    role_name: fc.oneof(fc.constantFrom('Owner', 'multiple'), odd),
    role_id: fc.oneof(fc.constant('/providers/Microsoft.Authorization/roleDefinitions/x'), odd),
    scope: odd,
    group_name: fc.oneof(fc.constantFrom('foo', 'multiple'), odd),
    object_id: odd,
  },
  { requiredKeys: [] },
)
const list = fc.oneof(
  fc.array(element, { maxLength: 3 }).map((items) => JSON.stringify(items)),
  odd,
)
const role = fc.record(
  {
    cloud_roles: list,
    cloud_groups: list,
    application_object_id: odd,
    tags: odd,
    sign_in_audience: fc.oneof(fc.constant('CloudADMyOrg'), odd),
    ttl: odd,
    max_ttl: odd,
    explicit_max_ttl: odd,
    permanently_delete: odd,
  },
  { requiredKeys: [] },
)
const config = fc.record(
  {
    rotation_schedule: fc.oneof(fc.constantFrom('* * * * *', '0 0 31 2 *'), odd),
    rotation_window: odd,
    rotation_period: odd,
    rotation_policy: odd,
    environment: odd,
    root_password_ttl: odd,
    identity_token_ttl: odd,
    identity_token_audience: odd,
    disable_automated_rotation: odd,
  },
  { requiredKeys: [] },
)

test('every write of a role is either refused or stored and readable', async () => {
  await fc.assert(
    fc.asyncProperty(role, async (body) => {
      const answer = await fixture.root.write('cloud/roles/odd', body)
      expect([204, 400], answer.text).toContain(answer.status)
      expect((await fixture.root.read('cloud/roles/odd')).status).toBe(answer.status === 204 ? 200 : 404)
      await fixture.root.delete('cloud/roles/odd')
    }),
    { numRuns: 150 },
  )
})

test('every write of a configuration is either refused or stored and readable', async () => {
  await fc.assert(
    fc.asyncProperty(config, async (body) => {
      const before = (await fixture.root.read('azure/config')).body['data']
      const answer = await fixture.root.write('azure/config', body)
      expect([204, 400], answer.text).toContain(answer.status)
      const after = await fixture.root.read('azure/config')
      expect(after.status).toBe(200)
      if (answer.status === 400) expect(after.body['data']).toEqual(before)
    }),
    { numRuns: 150 },
  )
})

test('no input of a caller leads outside the intended paths of the directory and the resource manager', () => {
  const known = fixture.directory.journal.entries().filter(({ operation }) => operation === 'unknown')

  expect(known.map(({ method, path }) => `${method} ${path}`)).toEqual([])
})
