import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { outcomeOf } from '../deploy/tools.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')
const tools = join(project, 'node_modules/.cache/release-tools/node_modules')
const schemas = join(tools, '@cyclonedx/cyclonedx-library/res/schema')

type Bill = { components: { group?: string; name: string; version: string }[] }

const run = (program: string, args: readonly string[], cwd: string) =>
  outcomeOf(process.execPath, [join(project, 'release', program), ...args], { cwd })

describe.skipIf(!existsSync(tools) && process.env['CI'] !== 'true')('the packages of a release', () => {
  test('are in a bill of materials that matches the schema of CycloneDX', async () => {
    const { code, stdout } = await run('sbom.ts', [], project)
    const schema = (name: string) => JSON.parse(readFileSync(join(schemas, name), 'utf8')) as object
    const ajv = new Ajv({ strict: false, validateFormats: false })
    for (const name of ['spdx.SNAPSHOT.schema.json', 'jsf-0.82.SNAPSHOT.schema.json'])
      ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}`)
    const bill = JSON.parse(stdout) as Bill
    const isValid = ajv.validate(schema('bom-1.6.SNAPSHOT.schema.json'), bill)
    const names = bill.components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`))

    expect([code, isValid, ajv.errors]).toEqual([0, true, null])
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(project, 'package.json'), 'utf8'),
    ) as Record<string, Record<string, string>>
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies ?? {})))
    expect(names).toEqual(expect.arrayContaining(['node', 'openssl', 'sqlite']))
    expect(names.filter((name) => name === 'vitest' || name === '@biomejs/biome')).toEqual([])
    expect(Object.keys(devDependencies ?? {})).toEqual(expect.arrayContaining(['vitest', '@biomejs/biome']))
  })

  test('have licences that are allowed, whose texts are written to a file', async () => {
    await using folder = await temporaryFolder()

    const { code, stdout } = await run('licenses.ts', [folder.file('texts')], project)

    expect(code).toBe(0)
    expect(stdout).toMatch(/^fastify@[\d.]+ MIT$/m)
    expect(await readFile(folder.file('texts'), 'utf8')).toContain(
      'Permission is hereby granted, free of charge',
    )
  })

  test('are refused if one has another licence, or none', async () => {
    await using folder = await temporaryFolder()
    const dependencies = { closed: '1.0.0', silent: '1.0.0' }
    const write = async (path: string, content: object) => {
      await mkdir(join(folder.path, path), { recursive: true })
      await writeFile(
        join(folder.path, path, 'package.json'),
        JSON.stringify({ version: '1.0.0', ...content }),
      )
    }
    await write('', { name: 'product', dependencies })
    await write('node_modules/closed', { name: 'closed', license: 'SSPL-1.0' })
    await write('node_modules/silent', { name: 'silent' })

    const { code, output } = await run('licenses.ts', [], folder.path)

    expect(code).toBe(1)
    expect(output).toContain('closed@1.0.0: the licence SSPL-1.0 is not allowed\n')
    expect(output).toContain('silent@1.0.0: the licence unknown is not allowed\n')
  })
})
