import { test } from 'vitest'

/** A test of what each server keeps for itself: with two servers, whose requests alternate, it is skipped. */
export const testOfOneServer = test.skipIf(process.env['TEST_REPLICAS'] === '2')
