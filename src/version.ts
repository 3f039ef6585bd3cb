import metadata from '../package.json' with { type: 'json' }

/** The version of Gatehouse itself. Clients compare another one, `GATEHOUSE_REPORTED_VERSION`. */
export const gatehouseVersion: string = metadata.version

/** When this version was made, in RFC 3339. */
export const gatehouseDate = `${metadata.date}T00:00:00Z`
