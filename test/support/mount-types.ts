import type { MountTypeNames } from '../../src/core/mounts/mount-type.ts'
import { MountTypeRegistry } from '../../src/core/mounts/mount-type-registry.ts'

/** The mount types of the product, by their names only, and `more` of them. */
export const someMountTypes = (...more: MountTypeNames[]): MountTypeRegistry =>
  new MountTypeRegistry([
    { table: 'auth', names: ['jwt', 'oidc'] },
    { table: 'auth', names: ['approle'] },
    { table: 'secret', names: ['cloud'] },
    { table: 'secret', names: ['azure'] },
    ...more,
  ])
