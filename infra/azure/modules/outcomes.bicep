// Optional (OUTCOME_TOPIC): a topic to which the app publishes outcomes of notifications. It needs no subscriber.
param name string
param location string
param tags object

@description('The identity of the app, which may publish.')
param appPrincipalId string

@description('Where its logs go.')
param workspaceId string

var eventGridDataSender = 'd5a91429-5739-47e2-a06b-3470a27159e7'

resource topic 'Microsoft.EventGrid/topics@2025-02-15' = {
  name: name
  location: location
  tags: tags
  properties: {
    inputSchema: 'CloudEventSchemaV1_0'
    disableLocalAuth: true
    minimumTlsVersionAllowed: '1.2'
  }
}

resource appPublishes 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(topic.id, appPrincipalId, eventGridDataSender)
  scope: topic
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', eventGridDataSender)
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'logs'
  scope: topic
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'DeliveryFailures', enabled: true }
      { category: 'PublishFailures', enabled: true }
    ]
    metrics: [{ category: 'AllMetrics', enabled: true }]
  }
}

output endpoint string = topic.properties.endpoint
