import metadata from '../package.json' with { type: 'json' }

/** The version of Gatehouse itself. Clients compare another one, `GATEHOUSE_REPORTED_VERSION`. */
export const gatehouseVersion: string = metadata.version
