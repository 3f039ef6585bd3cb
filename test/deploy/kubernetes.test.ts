import { join } from 'node:path'
import { expect, test } from 'vitest'
import { kubernetesValidate, missing, outcomeOf } from './tools.ts'

const folder = join(import.meta.dirname, '../../deploy/kubernetes')

test.skipIf(missing(kubernetesValidate) !== undefined)(
  'the schemas of Kubernetes accept the manifests, which have no unknown members',
  async () => {
    const files = ['gatehouse', 'postgres'].map((name) => join(folder, `${name}.yaml`))

    const { code, output } = await outcomeOf(kubernetesValidate, ['--strict', ...files])

    expect(code).toBe(0)
    expect(output.match(/ passed for resource /g)).toHaveLength(10)
    expect(output.split('\n').filter((line) => !line.startsWith('INFO') && line !== '')).toEqual([])
  },
)
