import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { openGuide } from '../pages/page.ts'
import { type Part, read } from './deployed.ts'
import { build, command, dockerfile, entrypoint, healthCheck, image, program, writable } from './image.ts'
import { hadolint, missing, outcomeOf } from './tools.ts'

const project = join(import.meta.dirname, '../..')
test('the image has the executable where its instructions name it, and folders of its user', () => {
  const copies = [...image.matchAll(/^COPY --from=build (?:--chown=(\S+) )?(\S+) (\S+)$/gm)]
  const owned = copies.filter(([, owner]) => owner !== undefined).map(([, owner, , to]) => [owner, to])

  expect(copies.map(([, , from, to]) => `${from} ${to}`)).toContain('/build/out/gatehouse /usr/local/bin/')
  expect(owned).toEqual(writable.map((folder) => ['65532:65532', folder]))
  expect(image).toContain('\nUSER 65532:65532\n')
  expect([entrypoint, command, healthCheck]).toEqual([[program], ['server'], [program, 'health']])
})

test('the build of the image has the files that it needs, and runs scripts that exist', async () => {
  const allowed = read('.dockerignore').split('\n')
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  )

  expect(copied.filter((file) => !existsSync(join(project, file)))).toEqual([])
  expect(copied.filter((file) => !allowed.includes(`!${file}`))).toEqual([])
  expect([...build.matchAll(/npm run (\w+)/g)].map(([, name = '']) => name in scripts)).toEqual([true])
})

test('the page confines a container as docker-compose.yml does', () => {
  const text = openGuide('docs/deployment.md', {}).blocks('Container').join('')
  const flags = [...text.matchAll(/ --(read-only|[\w-]+ [^\s\\]+)/g)].map(([, flag = '']) => flag)
  const service = (parse(read('docker-compose.yml'), { merge: true }) as Part)['services']?.['gatehouse']
  const list = (name: string) => [...(service?.[name] ?? [])].map(String)

  expect(service?.['read_only']).toBe(true)
  expect(flags).toEqual(
    expect.arrayContaining([
      'read-only',
      ...list('tmpfs').map((one) => `tmpfs ${one}`),
      ...list('cap_drop').map((one) => `cap-drop ${one}`),
      ...list('security_opt').map((one) => `security-opt ${one}`),
      ...list('ports').map((one) => `publish ${one}`),
      `ulimit core=${String(service?.['ulimits']?.['core'])}`,
      `pids-limit ${String(service?.['pids_limit'])}`,
      `memory ${String(service?.['mem_limit'])}`,
      `memory-swap ${String(service?.['memswap_limit'])}`,
      `stop-timeout ${Number.parseInt(String(service?.['stop_grace_period']), 10)}`,
    ]),
  )
})

test.skipIf(missing(hadolint) !== undefined)('a linter finds nothing in the Dockerfile', async () => {
  expect(await outcomeOf(hadolint, [join(project, 'Dockerfile')])).toEqual({
    code: 0,
    stdout: '',
    output: '',
  })
})
