import { sendSuccessfully } from '../simulators/operator.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, type Requests, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillEntities, filledAlias } from './fill-entities.ts'
import type { Generator } from './generator.ts'
import { measureCase } from './measure.ts'
import { renderTable } from './table.ts'

export type ManyEntitiesInput = { entities: number; generator: Generator; options: BenchOptions }

/** Number of different entities requested, in turn: all of the small store, or a sample of the large one. */
const asked = 4096

/**
 * Measures finding an entity by its alias in a store with many entities, in turns with a store that holds
 * only the requested ones.
 */
export async function measureManyEntities({
  entities,
  generator,
  options,
}: ManyEntitiesInput): Promise<string> {
  await using fewFolder = await makeBenchFolder()
  await using manyFolder = await makeBenchFolder()
  const startedAt = performance.now()
  const fewAccessor = await prepare(fewFolder.path, Math.min(asked, entities))
  const manyAccessor = await prepare(manyFolder.path, entities)
  const filledIn = `${entities} entities written in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`

  await using few = await startServerProcess({ folder: fewFolder.path })
  await using many = await startServerProcess({ folder: manyFolder.path })
  const lookups = await measureCase(
    {
      name: 'entity by alias, many',
      connections: usualConnections,
      ours: requests(many.rootToken, manyAccessor, entities),
      against: {
        contender: 'empty',
        requests: requests(few.rootToken, fewAccessor, Math.min(asked, entities)),
      },
      aim: 0.9,
    },
    { gatehouse: many, empty: few },
    generator,
    options,
  )
  return [filledIn, renderTable([lookups])].join('\n')
}

function requests(token: string, mountAccessor: string, among: number): Requests {
  const variants = Array.from({ length: asked }, (_, index) => {
    const name = filledAlias(Math.floor((index * among) / asked))
    return { token, body: JSON.stringify({ alias_name: name, alias_mount_accessor: mountAccessor }) }
  })
  return { method: 'POST', path: '/v1/identity/lookup/entity', variants }
}

/** Prepares a store with `count` entities at its JWT mount; returns the accessor of the mount. */
async function prepare(folder: string, count: number): Promise<string> {
  const mountAccessor = await accessorOfMount(folder)
  await fillEntities({
    folder,
    mountAccessor,
    count,
    onProgress: (done) => process.stderr.write(`\r${done} entities`),
  })
  process.stderr.write('\n')
  return mountAccessor
}

async function accessorOfMount(folder: string): Promise<string> {
  await using server = await startServerProcess({ folder })
  const { body } = await sendSuccessfully(server.url, {
    method: 'GET',
    path: 'sys/auth/jwt',
    token: server.rootToken,
  })
  const accessor = body?.accessor
  if (typeof accessor !== 'string') throw new Error('the JWT mount has no accessor')
  return accessor
}
