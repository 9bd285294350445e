// One storage account for the service's tables, the app's package and the data of the Functions host (function keys).
// There is no shared key to steal: every access is an identity with a role.
param name string
param sku string
param location string
param tags object

@description('Put before the table names.')
param tablesPrefix string

@description('The identity of the app.')
param appPrincipalId string

@description('A person or group who may read the tables; may be empty.')
param operatorPrincipalId string

@description('The kind of the operator: User, Group or ServicePrincipal.')
param operatorPrincipalType string

@description('True: they may also write the tables.')
param operatorMayRebuild bool

@description('Shards of a day; the name of the table includes the number.')
param counterShards int

@description('True: reached only through private endpoints.')
param isPrivate bool

@description('True: a lock protects the account against deletion.')
param deleteLock bool

@description('Where its logs go.')
param workspaceId string

var storageBlobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var storageBlobDataReader = '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
var storageTableDataContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
var storageTableDataReader = '76199698-9eea-4c19-bc75-cec21354c6b6'

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: sku }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      defaultAction: isPrivate ? 'Deny' : 'Allow'
      // Event Grid writes its dead letters as a trusted service.
      bypass: 'AzureServices'
    }
  }
}

// The counts are stored only here: deleting the account, or the resource group, deletes them forever. The lock does not protect rows.
resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (deleteLock) {
  name: 'keep-the-counts'
  scope: account
  properties: {
    level: 'CanNotDelete'
    notes: 'The counts live nowhere else. README.md (Take it down) says how to delete this on purpose.'
  }
}

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2024-01-01' = {
  parent: account
  name: 'default'
}

// Logs deletions with their callers, and the transactions by result. A log line for each read or write would cost more than the storage.
resource tableLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'logs'
  scope: tableService
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'StorageDelete', enabled: true }]
    metrics: [{ category: 'Transaction', enabled: true }]
  }
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices/tables@2024-01-01' = [
  // As src/analytics/model/shard.ts names it: the shards of a day are fixed for a table.
  for table in [counterShards == 1 ? 'analytics' : 'analytics${counterShards}', 'calls']: {
    parent: tableService
    name: '${tablesPrefix}${table}'
  }
]

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' = {
  parent: account
  name: 'default'
  properties: {
    // A replaced or deleted backup is kept as an earlier version.
    isVersioningEnabled: true
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource deployments 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' = {
  parent: blobService
  name: 'deployments'
  properties: { publicAccess: 'None' }
}

// Event Grid stores events here that it could not deliver to POST /api/events.
resource deadLetters 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' = {
  parent: blobService
  name: 'dead-letters'
  properties: { publicAccess: 'None' }
}

// A blob for each hour of each shard of a day, written by the app's timers BackUpDays and CloseDays; npm run send -- --backup reads them.
resource backups 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' = {
  parent: blobService
  name: 'backups'
  properties: { publicAccess: 'None' }
}

// Earlier versions help only against accidents that are noticed within this time.
resource oldVersions 'Microsoft.Storage/storageAccounts/managementPolicies@2024-01-01' = {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: [
        {
          name: 'old-versions'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: { blobTypes: ['blockBlob'] }
            actions: { version: { delete: { daysAfterCreationGreaterThan: 90 } } }
          }
        }
      ]
    }
  }
}

resource appOwnsBlobs 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, appPrincipalId, storageBlobDataOwner)
  scope: account
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataOwner)
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource appWritesTables 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, appPrincipalId, storageTableDataContributor)
  scope: account
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageTableDataContributor)
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
  }
}

// On the resource group, which has no other storage account: the lock would keep a role on the account itself from being removed.
resource operatorReadsTables 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(operatorPrincipalId)) {
  name: guid(resourceGroup().id, operatorPrincipalId, storageTableDataReader)
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageTableDataReader)
    principalId: operatorPrincipalId
    principalType: operatorPrincipalType
  }
}

// For npm run send -- --backup.
resource operatorReadsBackups 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(operatorPrincipalId)) {
  name: guid(resourceGroup().id, operatorPrincipalId, storageBlobDataReader)
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataReader)
    principalId: operatorPrincipalId
    principalType: operatorPrincipalType
  }
}

// A deployment removes no role: operate.md ("Audit") has the command that removes it.
resource operatorRebuildsTables 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (operatorMayRebuild && !empty(operatorPrincipalId)) {
  name: guid(resourceGroup().id, operatorPrincipalId, storageTableDataContributor)
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageTableDataContributor)
    principalId: operatorPrincipalId
    principalType: operatorPrincipalType
  }
}

// The endpoints end in a slash.
output id string = account.id
output name string = account.name
output tableEndpoint string = account.properties.primaryEndpoints.table
output blobEndpoint string = account.properties.primaryEndpoints.blob
output deploymentContainerUrl string = '${account.properties.primaryEndpoints.blob}${deployments.name}'
output backupContainerUrl string = '${account.properties.primaryEndpoints.blob}${backups.name}'
output deadLetterContainerId string = deadLetters.id
